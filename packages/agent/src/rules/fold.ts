// Case folding: names that readers of other languages may take for each other. Go's encoding/json matches the members
// of an object with the fields of a structure this way, for instance.

/**
 * The text with each character replaced by one of those that simple case folding makes equal (Unicode, CaseFolding.txt,
 * statuses C and S): texts that fold to each other give the same text. `ſ` is `s`, the Kelvin sign is `k`.
 */
export function foldCase(text: string): string {
  // Printable ASCII is nearly all there is.
  if (/^[\x20-\x7e]*$/.test(text)) return text.toLowerCase();
  let folded = '';
  for (const character of text) folded += foldCharacter(character);
  return folded;
}

/** Foldings that differ from upper and lower case: pairs of one meaning, and the Turkish dotless i. */
const exceptions: ReadonlyMap<string, string> = new Map([
  ['\u1fd3', '\u0390'],
  ['\u1fe3', '\u03b0'],
  ['\ufb05', '\ufb06'],
  ['\u0131', '\u0131'],
]);

/** Simple folding maps one character to one: where the full mapping gives several, the character stays. */
function foldCharacter(character: string): string {
  const exception = exceptions.get(character);
  if (exception !== undefined) return exception;
  const upper = oneOf(character.toUpperCase(), character);
  const lower = oneOf(upper.toLowerCase(), upper);
  // A lower-case letter that is neither of both, such as the final sigma, comes back to the same pair this way.
  return oneOf(oneOf(lower.toUpperCase(), lower).toLowerCase(), lower);
}

const oneOf = (mapped: string, character: string): string => ([...mapped].length === 1 ? mapped : character);
