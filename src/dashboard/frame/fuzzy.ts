// How well a name fits what somebody types: beginnings of words before parts of them, parts before letters in order.

const whole = 4;
const atWord = 3;
const inside = 2;
const scattered = 1;

/** 0: it does not fit. `typed` is in lower case. */
function fitOf(word: string, typed: string): number {
  const at = typed.indexOf(word);
  if (at === 0) return whole;
  if (typed.includes(` ${word}`) || typed.includes(`-${word}`)) return atWord;
  if (at > 0) return inside;
  return word.length > 1 && inOrder(word, typed) ? scattered : 0;
}

/** Its letters stand in the name one after another, the first at the beginning of a word. */
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

/** 0 when a word of what was typed does not fit; else the larger, the better. */
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
