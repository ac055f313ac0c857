// Which file of the web console a path gets, in which encoding, and how long it may be kept.
import { describe, expect, it } from 'vitest';
import { createStaticFiles } from '../../src/http/static-files.ts';
import type { StaticFile } from '../../src/shared/ports/static-folder.ts';

const file = (name: string): StaticFile => ({
  type: 'text/html; charset=utf-8',
  etag: `"${name}"`,
  identity: Buffer.from(name),
  br: Buffer.from('br'),
  gzip: Buffer.from('gz'),
});
const folder = new Map([
  ['index.html', file('index')],
  ['assets/main-1a2b.js', file('main')],
  ['theme.js', { ...file('theme'), br: null, gzip: null }],
]);
const files = createStaticFiles(folder);

const get = (path: string, headers: { readonly [name: string]: string } = {}, method = 'GET') =>
  files.answer({ method, path, headers: new Map(Object.entries(headers)) });
const header = (path: string, name: string, headers = {}): string | undefined =>
  get(path, headers)?.headers.find(([key]) => key === name)?.[1];

describe('the files of the web console', () => {
  it('redirects the root alone, and leaves other paths to the API', () => {
    expect(get('/')).toMatchObject({ status: 302, body: null });
    expect(header('/', 'Location')).toBe('/dashboard/');
    expect(get('/dashboards')).toBeNull();
    expect(get('/api/v1/health')).toBeNull();
    expect(get('/elsewhere')).toBeNull();
  });

  it('gives the page to every path below /dashboard but assets that are not there', () => {
    for (const path of ['/dashboard', '/dashboard/', '/dashboard/approvals', '/dashboard/a/b/..%2f']) {
      expect(Buffer.from(get(path)?.body ?? '').toString()).toBe('index');
      expect(header(path, 'Cache-Control')).toBe('no-cache');
    }
    expect(() => get('/dashboard/assets/main-0000.js')).toThrow('Not Found');
    expect(header('/dashboard/assets/main-1a2b.js', 'Cache-Control')).toContain('immutable');
  });

  it.each([
    ['br, gzip', 'br'],
    ['gzip, deflate', 'gzip'],
    ['br;q=0, gzip;q=0.5', 'gzip'],
    ['identity', undefined],
    ['', undefined],
  ])('to a client that takes "%s" sends %s', (accepted, coding) => {
    expect(header('/dashboard/', 'Content-Encoding', { 'accept-encoding': accepted })).toBe(coding);
    expect(header('/dashboard/', 'Vary', { 'accept-encoding': accepted })).toBe('Accept-Encoding');
    expect(
      header('/dashboard/theme.js', 'Content-Encoding', { 'accept-encoding': accepted }),
    ).toBeUndefined();
  });

  it('reads blanks between two words of Accept-Encoding once', () => {
    // One header took 200 ms while each blank was tried as the begin of all that follow: 10 s for these.
    const accepted = `a${' '.repeat(16_000)}b, br ; q=0, gzip ; q=1`;
    const start = performance.now();
    for (let i = 0; i < 50; i++) get('/dashboard/', { 'accept-encoding': accepted });
    expect(performance.now() - start).toBeLessThan(3000);
    expect(header('/dashboard/', 'Content-Encoding', { 'accept-encoding': accepted })).toBe('gzip');
  });

  it('answers 304 to who has it', () => {
    expect(get('/dashboard/', { 'if-none-match': '"other", W/"index"' })).toMatchObject({
      status: 304,
      body: null,
    });
    expect(get('/dashboard/', { 'if-none-match': '"other"' })?.status).toBe(200);
  });

  it('is read only, and says when it was not built', () => {
    expect(() => get('/dashboard/', {}, 'POST')).toThrow('Method Not Allowed');
    const none = createStaticFiles(null);
    expect(() => none.answer({ method: 'GET', path: '/dashboard/', headers: new Map() })).toThrow(
      'npm run build',
    );
  });
});
