/** What this process was started with, as far as it is no setting and no secret: our children get this, and nothing else of it. */

export type Environment = Record<string, string | undefined>;

/** Where programs, files and certificates lie, and how text and time are written. */
const GENERAL_NAMES =
  /^(?:PATH|HOME|LANG|LC_\w+|TZ|TMPDIR|XDG_RUNTIME_DIR|NODE_EXTRA_CA_CERTS|SSL_CERT_\w+)$/;

/** The variables of a list, so that a secret which nobody thought of stays here. Reads the environment of this process unless given one. */
export function generalEnvironment(environment: Environment = process.env): Environment {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => GENERAL_NAMES.test(name)));
}
