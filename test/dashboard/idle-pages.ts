// Browser pages for another use. A page that is reused takes two thirds of the processor time of a fresh one, because
// its process has read and compiled the console before.
import type { EventEmitter } from 'node:events';
import type { BrowserContext, Page } from 'playwright-core';

export interface PageSlot {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Of the present use. */
  faults: string[];
}

interface IdlePage {
  readonly key: string;
  readonly slot: PageSlot;
  /** Closes the browser context. */
  readonly end: () => Promise<void>;
}

/** An idle page holds memory, and almost all views have one size. */
const maxIdle = 2;
/** Oldest first. */
const idle: IdlePage[] = [];

/** Of hubs that serve more than one view. */
const lastingOrigins = new Set<string>();

/** Makes views of an origin reuse pages. */
export const reusePages = (origin: string): void => {
  lastingOrigins.add(origin);
};

/** Calls that no other call takes back. */
const lastingOfContext = [
  'addInitScript',
  'exposeBinding',
  'exposeFunction',
  'newCDPSession',
  'newPage',
  'route',
  'routeWebSocket',
  'setExtraHTTPHeaders',
  'setOffline',
];
const lastingOfPage = [
  'addInitScript',
  'close',
  'emulateMedia',
  'exposeBinding',
  'exposeFunction',
  'routeWebSocket',
  'setExtraHTTPHeaders',
  'setViewportSize',
];

/** A page for the key that is as a fresh one but for its processes and caches, or undefined. */
export function takeIdlePage(key: string): PageSlot | undefined {
  const index = idle.findIndex((one) => one.key === key);
  return index === -1 ? undefined : idle.splice(index, 1)[0]?.slot;
}

/**
 * Makes `context.close` keep the page for the next view with the key, where the hub lasts and the use left nothing that
 * does.
 */
export function keepAtClose(key: string, slot: PageSlot, origin: string): void {
  if (!lastingOrigins.has(origin)) return;
  const { context, page } = slot;
  let isChanged = false;
  const mark = (): void => {
    isChanged = true;
  };
  watch(context, lastingOfContext, mark);
  watch(page, lastingOfPage, mark);
  const { clock } = page;
  Object.defineProperty(page, 'clock', {
    get() {
      mark();
      return clock;
    },
  });
  const end = context.close.bind(context);
  const ownListeners = countListeners(slot);
  context.close = async (): Promise<void> => {
    if (idle.some((one) => one.slot === slot)) return;
    isChanged ||= context.pages().length !== 1 || countListeners(slot) !== ownListeners;
    if (isChanged || !(await isEmptied(slot, origin))) return end();
    idle.push({ key, slot, end });
    if (idle.length > maxIdle) await idle.shift()?.end();
  };
}

const countListeners = ({ context, page }: PageSlot): number =>
  [context, page]
    .map((target) => target as unknown as EventEmitter)
    .flatMap((emitter) => emitter.eventNames().map((name) => emitter.listenerCount(name)))
    .reduce((sum, count) => sum + count, 0);

function watch(target: object, names: readonly string[], mark: () => void): void {
  for (const name of names) {
    const method = Reflect.get(target, name) as (...values: unknown[]) => unknown;
    Reflect.set(target, name, (...values: unknown[]) => {
      mark();
      return method.apply(target, values);
    });
  }
}

/** Removes all that a person leaves in a browser. False if the hub has ended, or the page is elsewhere. */
async function isEmptied({ context, page }: PageSlot, origin: string): Promise<boolean> {
  if (page.isClosed() || !page.url().startsWith(`${origin}/`)) return false;
  try {
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    // A text of the same origin: the application itself would write again.
    const answer = await page.goto('/dashboard/theme.js', { timeout: 5_000 });
    if (!answer?.ok()) return false;
    await page.evaluate('localStorage.clear(); sessionStorage.clear();');
    // No row under it.
    await page.mouse.move(-1, -1);
    await context.clearPermissions();
    await context.clearCookies();
    return true;
  } catch {
    return false;
  }
}
