// Texts of strangers, and a look at a page that shows them: it may make no markup of them, be turned around by none,
// and grow no wider than the screen.
import type { Page } from 'playwright-core';

const script = `"><img src=x onerror="window.owned=1"><script>window.owned=1</script>{{7*7}}\${7*7}`;
const turned = 'safe\u202Etxt.exe\u202C\u2066\u200B';
const controls = 'a\u0000b\u0007c\u001Bd\u007Fe\u0085f\r\ng';
const long = 'x'.repeat(10_000);

export const hostile = [script, turned, controls, long] as const;

interface Look {
  readonly owned: boolean;
  readonly markup: number;
  readonly odd: string | null;
  readonly wider: number;
}

/** Skeletons come after 150 ms, and go when the answer is there. */
export const settled = `(async () => {
  while (performance.now() < 500 || document.querySelector('.skeleton')) {
    await new Promise((done) => requestAnimationFrame(done));
  }
})()`;

const look = `(() => {
  const odd = /[\\u0000-\\u0008\\u000B\\u000C\\u000E-\\u001F\\u007F\\u0080-\\u009F\\u200B\\u202A-\\u202E\\u2066-\\u2069]/.exec(document.body.innerText + document.title);
  return {
    owned: window.owned === 1,
    markup: document.querySelectorAll('img[src="x"], body script:not([src])').length,
    odd: odd && 'U+' + odd[0].codePointAt(0).toString(16) + ' in ' + (document.body.innerText + document.title).slice(Math.max(0, odd.index - 60), odd.index + 20),
    wider: document.documentElement.scrollWidth - innerWidth,
  };
})()`;

/** An element of a new size is drawn in the next frame, one that measures itself in the one after. */
const drawn = `(async () => {
  for (let frame = 0; frame < 3; frame += 1) await new Promise((done) => requestAnimationFrame(done));
})()`;

function faultsOf(where: string, { owned, markup, odd, wider }: Look): string[] {
  const faults = [
    owned && 'a script ran',
    markup > 0 && 'markup was made',
    odd,
    wider > 0 && `${wider} px wider than the screen`,
  ];
  return faults
    .filter((fault) => fault !== false && fault !== null)
    .map((fault) => `${where.slice(0, 80)}: ${fault}`);
}

/** Looks at a page on a screen and on a phone. The page keeps the size of the screen. */
export async function looked(page: Page, where: string): Promise<string[]> {
  await page.evaluate(drawn);
  const wrong = faultsOf(where, (await page.evaluate(look)) as Look);
  await page.setViewportSize({ width: 360, height: 740 });
  await page.evaluate(drawn);
  wrong.push(...faultsOf(`${where.slice(0, 60)} at 360 px`, (await page.evaluate(look)) as Look));
  await page.setViewportSize({ width: 1440, height: 900 });
  return wrong;
}
