// Texts without a secret, from a seed: ordinary texts joined, and lines put together from ordinary words beside names.
import { ordinaryTexts } from './corpus.ts';

/** A small generator of numbers, so that a seed names its texts. */
export function random(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761;
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 374_761_393) >>> 0;
    return (state >>> 8) % below;
  };
}

const names =
  'password token API_KEY secret credentials apiKey passphrase client_secret pin pwd auth cookie key code pass'.split(
    ' ',
  );
const ordinaryWords = [
  ...new Set(ordinaryTexts.flatMap((text) => text.split(/\s+/)).filter((word) => word.length < 24)),
  ...'v2 web-01a us-east-1 node20 p95 a1b2c3d 2024-11-26 10.0.0.7 utf8 x86_64 main.ts @scope/pkg issue-42 3rd'.split(
    ' ',
  ),
];
const lineForms: readonly ((name: string, word: string, other: string) => string)[] = [
  (name, word) => `the ${name} of ${word} is rotated`,
  (name, word, other) => `${word} ${name} ${other}`,
  (name, word) => `- ${name} for ${word}`,
  (name, word, other) => `| ${word} | ${other} | ${name} |`,
  (name, word, other) => `import { ${name}, ${word} } from './${other}'`,
  (name, word, other) => `${word}(${name}, ${other})`,
  (name, word) => `// ${name}: see ${word}`,
  (name, word, other) => `${word} --${other} src # ${name}`,
  (_, word, other) => `${word}: ${other}`,
  (_, word, other) => `${word}=${other}`,
];

/** A text of one to four lines. */
export function ordinaryText(seed: number): string {
  const draw = random(seed);
  const any = <T>(list: readonly T[]): T => list[draw(list.length)] as T;
  const line = (): string =>
    draw(3) === 0 ? any(ordinaryTexts) : any(lineForms)(any(names), any(ordinaryWords), any(ordinaryWords));
  return Array.from({ length: 1 + draw(4) }, line).join(any(['\n', '\n', ' ', '; ']));
}
