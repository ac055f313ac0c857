// Text search in lists: a letter matches itself in the other case, everything else itself alone. Both stores search by
// this rule, whatever the database calls a case (promise P35).

/**
 * The letter in lower case where that is one letter whose upper case leads back; else as it is. So `É` is `é`, while
 * `İ` is no `i`, `ẞ` no `ß` and the sign for kelvin no `k`.
 */
const foldedLetter = (letter: string): string => {
  const lower = letter.toLowerCase();
  return lower !== letter && lower.toUpperCase() === letter && [...lower].length === 1 ? lower : letter;
};

/** Folds a text: a search treats texts with the same folded form as equal. */
export const foldedText = (text: string): string =>
  text.replace(/\p{Changes_When_Lowercased}/gu, foldedLetter);

/** True if a search for `folded` (from `foldedText`) finds the text. */
export const findsIn = (text: string, folded: string): boolean => foldedText(text).includes(folded);

/** Each character of the search with what else it stands for. */
export const searchedLetters = (search: string): readonly (readonly string[])[] =>
  [...foldedText(search)].map((letter) => {
    const upper = letter.toUpperCase();
    return upper !== letter && foldedText(upper) === letter ? [letter, upper] : [letter];
  });
