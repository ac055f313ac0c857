// Secrets behind an encoding: JSON in base64, and percent-encoded text. What holds none stays as it was written.
import { redacted } from './secret.ts';

/** Base64 of `{"`, `{ `, `{` and a newline, or `[{`, not one of several parts as a web token has. */
const json = /(?<![A-Za-z0-9+/_=.-])(?:ey[JAN]|ew[o0]|W3[so])[A-Za-z0-9+/_-]{12,}(?![A-Za-z0-9+/_.-])={0,2}/g;
/** A run without blanks, quotes or marks that holds an encoded `=`, `:` or `"`. */
const run = /[^\s"'<>`]+/g;
const encodedMark = /%(?:25){0,2}(?:3[AaDd]|22)/;

/** @param hide how the text within is judged */
export function hideEncoded(text: string, hide: (inner: string) => string): string {
  let hidden = text;
  if (/ey[JAN]|ew[o0]|W3[so]/.test(hidden)) {
    hidden = hidden.replace(json, (whole) => {
      const inner = fromBase64(whole);
      return inner !== null && hide(inner) !== inner ? redacted : whole;
    });
  }
  if (!encodedMark.test(hidden)) return hidden;
  return hidden.replace(run, (whole) => {
    if (!encodedMark.test(whole)) return whole;
    const inner = fromPercents(whole);
    const judged = inner === null ? null : hide(inner);
    return judged === null || judged === inner ? whole : judged;
  });
}

function fromBase64(text: string): string | null {
  try {
    const bytes = atob(text.replace(/=+$/, '').replaceAll('-', '+').replaceAll('_', '/'));
    return new TextDecoder().decode(Uint8Array.from(bytes, (char) => char.charCodeAt(0)));
  } catch {
    return null;
  }
}

function fromPercents(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
