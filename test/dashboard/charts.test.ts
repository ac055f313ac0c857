// Charts over time: drawn in the colours of the theme, read moment by moment, a range chosen by pointer and by keys,
// and the same numbers as a table.
import type { Locator, Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { itAtNight } from '../runs.ts';
import { accessible, noFaults, view } from './browser.ts';
import { tenantOfFile } from './file-hub.ts';

const { hub, cookie } = await tenantOfFile();

const hourMs = 3_600_000;
const minuteMs = 60_000;
/** Of the histogram of a day. */
const slotMs = 15 * minuteMs;
const denied = 3;

beforeAll(async () => {
  const { key } = await hub.key(cookie);
  const call = (n: number, verdict: string, agoMs: number): object => ({
    call_id: `call-${verdict}-${n}`,
    agent_id: 'shop-agent',
    tool_name: 'refund',
    verdict,
    mode: 'enforce',
    timestamp: new Date(Date.now() - agoMs).toISOString(),
  });
  const events = [
    ...Array.from({ length: 200 }, (_, n) => call(n, 'call_allowed', (n % 20) * hourMs + 10 * minuteMs)),
    ...Array.from({ length: denied }, (_, n) => call(n, 'call_denied', 5 * hourMs)),
  ];
  const { status } = await hub.call('POST', '/api/v1/events', { key, agent: 'shop-agent', body: { events } });
  expect(status).toBe(200);
});

type Box = NonNullable<Awaited<ReturnType<Locator['boundingBox']>>>;

const chart = (page: Page): Locator => page.getByRole('slider', { name: 'Calls over time' });

/** How many pixels of the drawing have the colour of a token. */
const pixelsOf = (page: Page, token: string): Promise<number> =>
  page.evaluate(`(() => {
    const hex = getComputedStyle(document.documentElement).getPropertyValue('${token}').trim();
    const wanted = [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
    const canvas = document.querySelector('.plot canvas');
    if (!canvas) return 0;
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    let found = 0;
    for (let at = 0; at < data.length; at += 4) {
      if (data[at + 3] === 255 && wanted.every((value, part) => data[at + part] === value)) found += 1;
    }
    return found;
  })()`);

const spanOf = (page: Page): readonly [number, number] => {
  const { searchParams } = new URL(page.url());
  return [Date.parse(searchParams.get('from') ?? ''), Date.parse(searchParams.get('to') ?? '')];
};

/** A quarter of the day was chosen, in whole slots. */
async function choosesQuarter(page: Page, leastHours = 5.5): Promise<void> {
  await page.waitForURL((url) => url.searchParams.has('to'));
  const [since, until] = spanOf(page);
  expect([since % slotMs, until % slotMs]).toEqual([0, 0]);
  expect((until - since) / hourMs).toBeGreaterThan(leastHours);
  expect((until - since) / hourMs).toBeLessThan(7);
}

it('names the key that shows its table', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/explore');
  await chart(page).waitFor();
  const figure = page.getByRole('figure', { name: 'Calls over time' });
  const [key = ''] =
    /Shift\+T/.exec((await figure.getByText(/^Use the arrow keys/).textContent()) ?? '') ?? [];
  const button = figure.getByRole('button', { name: 'Show table' });
  expect(await button.getAttribute('aria-keyshortcuts')).toBe(key);
  await page.keyboard.press(key);
  await figure.getByRole('button', { name: 'Show chart' }).waitFor();
  await page.keyboard.press(key);
  await button.waitFor();
  noFaults(visit);
  await visit.context.close();
});

itAtNight('is drawn in the colours of the theme, also when it changes', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/explore');
  await chart(page).waitFor();
  await expect.poll(() => pixelsOf(page, '--bar-allow')).toBeGreaterThan(500);
  // Three denials of 203 calls are seen.
  await expect.poll(() => pixelsOf(page, '--bar-deny')).toBeGreaterThan(20);
  await page.evaluate(`document.documentElement.dataset.theme = 'dark'`);
  await expect.poll(() => pixelsOf(page, '--bar-allow')).toBeGreaterThan(500);
  await accessible(page);
  noFaults(visit);
  await visit.context.close();
});

itAtNight('says all figures of the moment under the pointer, and chooses a range by dragging', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/explore');
  await page.locator('.plot .u-over').waitFor();
  const figure = page.getByRole('figure', { name: 'Calls over time' });
  await figure.getByText('Total').waitFor();
  await expect
    .poll(() => figure.locator('.chart-track').allTextContents())
    .toEqual(['allowed 200', 'denied 3', 'asked 0', 'would deny 0']);
  const at = async (share: number): Promise<readonly [number, number]> => {
    const place = await page.locator('.plot .u-over').boundingBox();
    if (!place) throw new Error('nothing is drawn');
    return [place.x + place.width * share, place.y + place.height / 2];
  };
  // Content that is still loading above it moves the chart away from under the pointer. A pointer at rest says nothing.
  const moment = figure.getByText(/\d\d:\d\d–(\d+ \w+ )?\d\d:\d\d/);
  let moves = 0;
  await expect
    .poll(async () => {
      moves += 1;
      await page.mouse.move(...(await at(0.5 + (moves % 2) / 50)));
      return moment.count();
    })
    .toBe(1);
  expect((await figure.locator('.chart-track').allTextContents()).map((text) => text.split(' ')[0])).toEqual([
    'allowed',
    'denied',
    'asked',
    'would',
  ]);
  await page.mouse.move(...(await at(0.25)));
  await page.mouse.down();
  await page.mouse.move(...(await at(0.4)));
  await page.mouse.move(...(await at(0.5)));
  await page.mouse.up();
  await choosesQuarter(page);
  noFaults(visit);
  await visit.context.close();
});

/** The place of a part that neither moves nor grows: rows that load and a scroll that runs on move what is below. */
async function stillBox(part: Locator): Promise<Box> {
  let before = '';
  let box: Box | null = null;
  await expect
    .poll(
      async () => {
        box = await part.boundingBox();
        const isStill = box !== null && JSON.stringify(box) === before;
        before = JSON.stringify(box);
        return isStill;
      },
      { interval: 150 },
    )
    .toBe(true);
  if (box === null) throw new Error('nothing is drawn');
  return box;
}

itAtNight('chooses a range under a finger, and lets one that goes up or down scroll the page', async () => {
  const visit = await view(hub.url, { cookie, width: 360, height: 740, touch: true });
  const { page } = visit;
  await page.goto('/dashboard/explore');
  const over = page.locator('.plot .u-over');
  await over.waitFor();
  // Without its rows, the page has nothing to scroll.
  await page.getByRole('row').nth(10).waitFor();
  const session = await visit.context.newCDPSession(page);
  const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', points: { x: number; y: number }[]) =>
    session.send('Input.dispatchTouchEvent', { type, touchPoints: points });
  /** From a part of the drawing's width, by steps across or down, in pixels. */
  const drag = async (part: number, across: number, down: number): Promise<void> => {
    const place = await stillBox(over);
    const [x, y] = [place.x + place.width * part, place.y + place.height / 2];
    await touch('touchStart', [{ x, y }]);
    for (let n = 1; n <= 5; n += 1) {
      await touch('touchMove', [{ x: x + (across * n) / 5, y: y + (down * n) / 5 }]);
    }
    await touch('touchEnd', []);
  };
  const scrolled = (): Promise<number> =>
    page.evaluate(`document.querySelector('main').scrollTop + scrollY`) as Promise<number>;
  await drag(0.5, 0, -120);
  await expect.poll(scrolled).toBeGreaterThan(40);
  expect(new URL(page.url()).searchParams.has('to')).toBe(false);
  // The page scrolls on after the finger has left it.
  await stillBox(over);
  await page.evaluate(`document.querySelector('.plot').scrollIntoView({ block: 'center' })`);
  const { width } = await stillBox(over);
  // Content that still loads can take the drawing from under the finger, which then tries again.
  const isChosen = (): Promise<boolean> =>
    page
      .waitForURL((url) => url.searchParams.has('to'), { timeout: 5_000 })
      .then(() => true)
      .catch(() => false);
  await expect
    .poll(async () => {
      await drag(0.25, width * 0.25, 0);
      return isChosen();
    })
    .toBe(true);
  // A finger's first pixels decide whether the page scrolls.
  await choosesQuarter(page, 4);
  noFaults(visit);
  await visit.context.close();
});

it('is read by keys, and chooses a range by them', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/explore');
  await chart(page).focus();
  const says = () => chart(page).getAttribute('aria-valuetext');
  await expect.poll(says).toBe('Total: 200 allowed, 3 denied, 0 asked, 0 would deny');
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowRight');
  await expect.poll(() => chart(page).getAttribute('aria-valuenow')).toBe('1');
  // Over midnight its end has a date too.
  await expect
    .poll(says)
    .toMatch(/\d\d:\d\d–(\d+ \w+ )?\d\d:\d\d: \d+ allowed, 0 denied, 0 asked, 0 would deny$/);
  await page.keyboard.press('End');
  for (let n = 0; n < 3; n += 1) await page.keyboard.press('Shift+ArrowLeft');
  await expect.poll(says).toMatch(/selected, press Enter to show$/);
  await accessible(page);
  await page.keyboard.press('Escape');
  await expect.poll(says).toMatch(/^Total/);
  await page.keyboard.press('End');
  for (let n = 0; n < 3; n += 1) await page.keyboard.press('Shift+ArrowLeft');
  await page.keyboard.press('Enter');
  await page.waitForURL((url) => url.searchParams.has('to'));
  const [since, until] = spanOf(page);
  expect(until - since).toBe(4 * slotMs);
  noFaults(visit);
  await visit.context.close();
});

itAtNight('is a table by one key, on every page, until it is pressed again', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/explore');
  await chart(page).waitFor();
  await page.keyboard.press('T');
  const table = page.getByRole('table', { name: 'Calls over time as a table' });
  const head = table.getByRole('columnheader', { name: 'denied' });
  await head.getByRole('button').click();
  await head.getByRole('button').click();
  await table.locator('[aria-sort=descending]').waitFor();
  await expect
    .poll(() => table.getByRole('row').nth(1).getByRole('cell').nth(2).textContent())
    .toBe(String(denied));
  await accessible(page);
  await page.goto('/dashboard/');
  await page.getByRole('table', { name: 'Calls over time as a table' }).waitFor();
  await accessible(page);
  await page.keyboard.press('T');
  await page.getByRole('slider', { name: 'Calls over time' }).waitFor();
  await accessible(page);
  noFaults(visit);
  await visit.context.close();
});
