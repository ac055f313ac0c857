// Random sandboxes and arguments against a slow reference that asks the platform: node:path for paths, WHATWG URL for
// hosts.
import { posix } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { runsOf } from '../../../../../test/runs.ts';
import { leaves } from './sandboxes.ts';

const seed = { seed: 20_261 };
const below = (path: string, folder: string): boolean => {
  const way = posix.relative(folder, path);
  return way !== '..' && !way.startsWith('../');
};
/** A text that is no escape stays, as in programs that decode leniently. */
const decoded = (path: string): string => path.replace(/%[0-9a-f]{2}/gi, decodeURIComponent);

const part = fc.constantFrom(
  'w',
  'a',
  'secret',
  '..',
  '.',
  '',
  '%2e%2e',
  '%2E.',
  'a%2F..',
  'b c',
  '...',
  'wx',
  '%41',
  '100%',
);
const path = fc
  .tuple(fc.constantFrom('', '/', '/w/', './', '../'), fc.array(part, { minLength: 1, maxLength: 5 }))
  .map(([start, parts]) => start + parts.join('/'))
  .filter((text) => text.trim() !== '' && !text.startsWith('file:'));
const folders = fc.uniqueArray(fc.constantFrom('/w', '/w/a', '/tmp/', '/', '/w/../a'), {
  minLength: 1,
  maxLength: 3,
});
const excluded = fc.uniqueArray(fc.constantFrom('/w/secret', '/w/a/b c', '/a'), { maxLength: 2 });

it('judges paths as node:path resolves them, as written and decoded', () => {
  fc.assert(
    fc.property(
      path,
      folders,
      excluded,
      fc.constantFrom('/w', '/w/a', '/elsewhere'),
      (text, within, without, cwd) => {
        const outside = (one: string): boolean => {
          const full = posix.resolve(cwd, one);
          const [inside, out] = [within, without].map((list) =>
            list.some((each) => below(full, posix.resolve(each))),
          );
          return !inside || out === true;
        };
        const box = `within: ${JSON.stringify(within)}, not_within: ${JSON.stringify(without)}`;
        expect(leaves(box, { path: text }, { cwd })).toBe(outside(text) || outside(decoded(text)));
      },
    ),
    { numRuns: runsOf(2_000), ...seed },
  );
});

const host = fc.constantFrom(
  'allowed.com',
  'a.allowed.com',
  'evil.com',
  'allowed.com.evil.com',
  'ALLOWED.com',
  'allowed.com.',
  '127.1',
);
const url = fc
  .tuple(
    fc.constantFrom('https:', 'http:', 'HTTPS:', 'wss:', 'ftp:'),
    fc.constantFrom('//', '/', '\\\\', '/\\', '///', ''),
    fc.constantFrom(
      '',
      'user@',
      'user:pw@',
      'allowed.com@',
      "allowed.com'@",
      'allowed.com<@',
      'allowed.com%40@',
    ),
    host,
    fc.constantFrom('', ':8443', ':80'),
    fc.constantFrom('', '/', '/x?u=https://z.com', '?x', '#@allowed.com', '/a b', '\\@allowed.com', '/x,y'),
  )
  .map((parts) => ({
    text: parts.join(''),
    plain: parts[1] === '//' && !/[%'<]/.test(parts[2]) && isCanonical(parts.join('')),
  }));

/** Mostly canonical: few of the others are. */
const tidyUrl = fc
  .tuple(
    fc.constantFrom('https', 'http', 'wss', 'ftp'),
    host,
    fc.constantFrom('', ':8443'),
    fc.constantFrom('/', '/x', '/x?u=https://z.com', '/?x', '/x#@allowed.com', '/x,y'),
  )
  .map(([scheme, name, port, rest]) => `${scheme}://${name}${port}${rest}`)
  .map((text) => ({ text, plain: isCanonical(text) }));

/** Other spellings of a URL leave, whatever their host. */
function isCanonical(text: string): boolean {
  return URL.canParse(text) && [text, `${text}/`].includes(new URL(text).href);
}

it('refuses every host that URL finds and the sandbox does not allow, and no plain URL that it allows', () => {
  let refused = 0;
  let passed = 0;
  fc.assert(
    fc.property(fc.oneof(url, tidyUrl), fc.constantFrom('url', 'link_uri', 'x'), ({ text, plain }, name) => {
      const found = URL.canParse(text) ? new URL(text).hostname.replace(/\.$/, '') : '';
      const allowed = found === 'allowed.com' || found.endsWith('.allowed.com');
      const left = leaves('allows: {domains: [allowed.com, "*.allowed.com"]}', { [name]: text });
      if (!allowed) expect([text, left]).toEqual([text, true]);
      else if (plain) expect([text, left]).toEqual([text, false]);
      if (left) refused++;
      else passed++;
    }),
    { numRuns: runsOf(3_000, 1_000), ...seed },
  );
  expect(Math.min(refused, passed)).toBeGreaterThan(100);
});
