// Twenty-four pictures of the console beside the accepted ones: six pages, two widths, two themes. A picture that is
// meant to be different is written by `npm run pictures`, and people look at it before they commit it.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import pixelmatch from 'pixelmatch';
import { PNG } from 'pngjs';
import { expect, it } from 'vitest';
import { isNightly } from '../runs.ts';
import { hubOfFile } from './file-hub.ts';
import { arrange, type Drawing, drawing, takePictures } from './pictures/scenes.ts';

const accepted = new URL('pictures/accepted/', import.meta.url).pathname;
const differences = new URL('../../dist/pictures/', import.meta.url).pathname;
/** Share of the pixels that may differ. */
const maxShare = 0.001;
/** Bytes of all accepted pictures. */
const maxBytes = 6 * 1024 * 1024;

const { hub, cookie } = await hubOfFile();

const namesOf = (folder: string): string[] => readdirSync(folder).filter((name) => name.endsWith('.png'));

/** Why pictures of this browser and this machine cannot be compared with the accepted ones; null if they can. */
async function obstacle(): Promise<string | null> {
  const recorded = JSON.parse(readFileSync(`${accepted}drawing.json`, 'utf8')) as Drawing;
  const own = await drawing();
  if (own.chromium !== recorded.chromium)
    return `pictures not compared: Chromium ${own.chromium}, the accepted ones are of ${recorded.chromium}`;
  return own.probe === recorded.probe
    ? null
    : 'pictures not compared: this machine draws letters and edges differently';
}

/** The share of pixels that differ; writes both pictures and the difference if it is too large. */
function shareOfDifference(name: string, png: Buffer): number {
  const [before, after] = [PNG.sync.read(readFileSync(`${accepted}${name}.png`)), PNG.sync.read(png)];
  const { width, height } = before;
  if (after.width !== width || after.height !== height) return 1;
  const difference = new PNG({ width, height });
  const share = pixelmatch(before.data, after.data, difference.data, width, height) / (width * height);
  if (share > maxShare) {
    mkdirSync(differences, { recursive: true });
    writeFileSync(`${differences}${name}.png`, png);
    writeFileSync(`${differences}${name}-difference.png`, PNG.sync.write(difference));
  }
  return share;
}

it('has 24 accepted pictures in 6 MB', () => {
  const names = namesOf(accepted);
  expect(names).toHaveLength(24);
  const bytes = names.reduce((sum, name) => sum + readFileSync(`${accepted}${name}`).byteLength, 0);
  expect(bytes).toBeLessThanOrEqual(maxBytes);
});

it('looks as accepted', { timeout: 180_000 }, async ({ skip }) => {
  const reason = await obstacle();
  if (reason !== null) {
    process.stdout.write(`${reason}\n`);
    skip(reason);
  }
  const { scenes, close } = await arrange(hub, cookie);
  // Per commit every page in both widths, in one theme.
  const ofRun = namesOf(accepted)
    .filter((name) => isNightly || name.endsWith('-light.png'))
    .sort();
  const compared: string[] = [];
  const wrong: string[] = [];
  for await (const { name, png } of takePictures(hub, cookie, scenes, (one) =>
    ofRun.includes(`${one}.png`),
  )) {
    compared.push(`${name}.png`);
    const share = shareOfDifference(name, png);
    if (process.env.PICTURES_REPORT) process.stdout.write(`${name} ${share}\n`);
    if (share > maxShare)
      wrong.push(
        `${name}: ${(share * 100).toFixed(2)} % of the pixels differ; see dist/pictures/${name}.png`,
      );
  }
  close();
  expect(compared.sort()).toEqual(ofRun);
  expect(wrong, 'run `npm run pictures` if the look is meant').toEqual([]);
});
