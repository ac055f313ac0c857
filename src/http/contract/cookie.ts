// Reader of Cookie headers.

/** The first value of a cookie; null when it is absent or empty. */
export function cookieOf(header: string | null | undefined, name: string): string | null {
  for (const part of (header ?? '').split(';')) {
    const split = part.indexOf('=');
    if (split > 0 && part.slice(0, split).trim() === name) return part.slice(split + 1).trim() || null;
  }
  return null;
}
