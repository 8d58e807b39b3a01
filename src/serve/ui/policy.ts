/** What a browser may do with an answer of the page: load what comes from here, and turn no text into markup. */

const common = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
};

/** Of the document, whose script and styles come from here. */
export const documentHeaders: Readonly<Record<string, string>> = {
  ...common,
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join('; '),
};

/**
 * Of what is said to those who may not see it yet, which has a form and no script.
 * @param style the source of its style.
 */
export function strangerHeaders(style: string): Readonly<Record<string, string>> {
  return {
    ...common,
    // Else a browser would hide where the form comes from, even from us.
    'Referrer-Policy': 'same-origin',
    'Content-Security-Policy': `default-src 'none'; style-src ${style}; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
  };
}
