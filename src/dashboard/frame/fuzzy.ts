// Ranks names for a typed text: matches at the start of a word, then inside a word, then of single letters in order.

const whole = 4;
const atWord = 3;
const inside = 2;
const scattered = 1;

/** Rank of one typed word, 0 for no match. `typed` is in lower case. */
function fitOf(word: string, typed: string): number {
  const at = typed.indexOf(word);
  if (at === 0) return whole;
  if (typed.includes(` ${word}`) || typed.includes(`-${word}`)) return atWord;
  if (at > 0) return inside;
  return word.length > 1 && inOrder(word, typed) ? scattered : 0;
}

/** True if the name contains the letters in order, the first of them at the start of a word. */
function inOrder(word: string, name: string): boolean {
  let from = name.startsWith(word.charAt(0))
    ? 0
    : name.search(new RegExp(`[^a-z0-9]${escaped(word.charAt(0))}`));
  if (from < 0) return false;
  for (const letter of word) {
    from = name.indexOf(letter, from) + 1;
    if (from === 0) return false;
  }
  return true;
}

const escaped = (letter: string): string => letter.replace(/[\\^$.*+?()[\]{}|/-]/, '\\$&');

/** Rank of the name for a typed text: higher is better, 0 if one of the words does not match. */
export function fitness(name: string, text: string): number {
  const lower = name.toLowerCase();
  let sum = 0;
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  for (const word of words) {
    const one = fitOf(word, lower);
    if (one === 0) return 0;
    sum += one;
  }
  return words.length === 0 ? 1 : sum / words.length;
}
