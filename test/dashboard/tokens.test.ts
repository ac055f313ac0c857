// The colours of styles/tokens.css, computed: the contrast of texts and marks on each surface, and the distance of the
// verdicts' fills for people who see colours differently.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const css = readFileSync(new URL('../../src/dashboard/styles/tokens.css', import.meta.url), 'utf8');

type Rgb = readonly [number, number, number];
type Tokens = { readonly [name: string]: Rgb };

const tokensOf = (block: string): Tokens =>
  Object.fromEntries(
    [...block.matchAll(/--([\w-]+): #([0-9a-f]{6});/g)].map(([, name = '', hex = '']) => [
      name,
      [0, 2, 4].map((at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255) as unknown as Rgb,
    ]),
  );
const [light = '', dark = ''] = css.split(':root[data-theme="dark"]');
const themes: readonly (readonly [string, Tokens])[] = [
  ['light', tokensOf(light)],
  ['dark', { ...tokensOf(light), ...tokensOf(dark) }],
];

const linear = (value: number): number =>
  value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
const luminance = ([r, g, b]: Rgb): number => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
function contrast(a: Rgb, b: Rgb): number {
  const [high = 0, low = 0] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (high + 0.05) / (low + 0.05);
}

function lab(color: Rgb): Rgb {
  const [r, g, b] = color.map(linear) as unknown as Rgb;
  const f = (t: number): number => (t > 216 / 24_389 ? Math.cbrt(t) : ((24_389 / 27) * t + 16) / 116);
  const x = f((0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047);
  const y = f(0.2126729 * r + 0.7151522 * g + 0.072175 * b);
  const z = f((0.0193339 * r + 0.119192 * g + 0.9503041 * b) / 1.08883);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}
const distance = (a: Rgb, b: Rgb): number => {
  const [p, q] = [lab(a), lab(b)];
  return Math.hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]);
};

/** Machado, Oliveira and Fernandes 2009, severity 1, on linear colours. */
const deficiencies: { readonly [name: string]: readonly (readonly [number, number, number])[] } = {
  none: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};
const gamma = (value: number): number => {
  const inside = Math.min(1, Math.max(0, value));
  return inside <= 0.0031308 ? inside * 12.92 : 1.055 * inside ** (1 / 2.4) - 0.055;
};
const seenWith = (matrix: readonly (readonly number[])[], color: Rgb): Rgb => {
  const values = color.map(linear);
  return matrix.map((row) =>
    gamma(row.reduce((sum, part, at) => sum + part * (values[at] ?? 0), 0)),
  ) as never;
};

const surfaces = ['page', 'card', 'raised', 'overlay', 'sunken'];
const texts = ['text', 'muted', 'accent', 'allow', 'deny', 'ask', 'observe', 'drift', 'unknown'].concat([
  'development',
  'staging',
  'production',
]);
const fills = ['bar-allow', 'bar-deny', 'bar-ask', 'bar-observe'];

describe.each(themes)('the colours of the %s theme', (_, tokens) => {
  const color = (name: string): Rgb => {
    const value = tokens[name];
    if (value === undefined) throw new Error(`tokens.css has no colour --${name}`);
    return value;
  };
  const least = (name: string): number =>
    Math.min(...surfaces.map((surface) => contrast(color(name), color(surface))));

  it('texts have a contrast of 4.5 on every surface, fills and edges of controls 3', () => {
    expect(texts.filter((name) => least(name) < 4.5)).toEqual([]);
    expect([...fills, 'line-strong'].filter((name) => least(name) < 3)).toEqual([]);
    expect(contrast(color('accent-text'), color('accent'))).toBeGreaterThanOrEqual(4.5);
    for (const tone of ['allow', 'deny', 'ask'])
      expect(contrast(color(tone), color(`${tone}-soft`)), tone).toBeGreaterThanOrEqual(4.5);
  });

  it.each(Object.keys(deficiencies))('fills of verdicts differ by 25 or more (%s)', (name) => {
    const matrix = deficiencies[name] ?? [];
    const close = fills.flatMap((one, at) =>
      fills
        .slice(at + 1)
        .map((other) => ({
          pair: `${one} ${other}`,
          by: distance(seenWith(matrix, color(one)), seenWith(matrix, color(other))),
        }))
        .filter(({ by }) => by < 25),
    );
    expect(close).toEqual([]);
  });
});
