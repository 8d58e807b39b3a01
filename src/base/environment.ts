/** The part of our environment that is no setting and no secret: our children get nothing else of it. */

export type Environment = Record<string, string | undefined>;

/** Names that say where programs, files and certificates are, and how text and time are written. */
const GENERAL_NAMES =
  /^(?:PATH|HOME|LANG|LC_\w+|TZ|TMPDIR|XDG_RUNTIME_DIR|NODE_EXTRA_CA_CERTS|SSL_CERT_\w+)$/;

/** The variables of a list of allowed names: a list of secrets would never be complete. */
export function generalEnvironment(environment: Environment = process.env): Environment {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => GENERAL_NAMES.test(name)));
}
