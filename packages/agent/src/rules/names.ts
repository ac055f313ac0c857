// Names that the rule language and the hub share: their patterns, and what no text may hold. Makes no names.

export const contractIdPattern = /^[a-z0-9][a-z0-9_-]*$/;
export const bundleNamePattern = /^[a-z0-9][a-z0-9._-]*$/;
export const sessionKeyPattern = /^[a-zA-Z0-9_.:/-]+$/;

/** Names a bundle may not have, because routes use them as fixed words. */
export const reservedBundleNames: ReadonlySet<string> = new Set(['evaluate', 'current']);

/**
 * True when the text holds a control character (C0, DEL, C1, U+2028/9): such names could forge a stream frame or a log
 * line.
 */
export function hasControl(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c < 0x20 || (c >= 0x7f && c <= 0x9f) || c === 0x2028 || c === 0x2029) return true;
  }
  return false;
}

/** True when every surrogate is paired, so that the text survives UTF-8. */
export const isWellFormed = (text: string): boolean => !/\p{Surrogate}/u.test(text);
