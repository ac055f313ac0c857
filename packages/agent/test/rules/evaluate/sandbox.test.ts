import { describe, expect, it } from 'vitest';
import { evaluateCall } from '../../../src/rules/evaluate/live.ts';
import { bundleOf, compiled } from './rules.ts';

describe('sandboxes', () => {
  const box = (rest: string) =>
    compiled(bundleOf(`  - {id: box, type: sandbox, tool: "*", message: out, ${rest}}`));
  const leaves = (rest: string, args: Record<string, unknown>) =>
    evaluateCall(box(rest), { tool: 't', args }).verdict === 'deny';

  it.each([
    [{ path: '/w/a.txt' }, false],
    [{ path: '/w' }, false],
    [{ path: '/w/' }, false],
    [{ path: '/w/../etc/passwd' }, true],
    [{ path: '/w/./a/../b' }, false],
    [{ path: '//w//a' }, false],
    [{ path: '/wx/a' }, true],
    [{ path: '/w/%2e%2e/etc' }, false],
    [{ path: '/w/secret/key' }, true],
    [{ path: '/w/secrets' }, false],
    [{ path: '/w/a/../secret' }, true],
    [{ path: 'etc/passwd' }, true],
    [{ path: '~/x' }, true],
    [{ filePath: '/etc' }, true],
    [{ dst: '/w/a', src: '/etc/passwd' }, true],
    [{ note: '/etc/passwd' }, true],
    [{ note: 'see /etc/passwd' }, false],
    [{ deep: { a: [{ b: '/etc/passwd' }] } }, true],
    [{ deep: { path: 'etc' } }, true],
    [{ command: 'cat /etc/passwd' }, true],
    [{ command: 'cat "/etc/passwd"' }, true],
    [{ command: "cat /w/a '/w/b c'" }, false],
    [{ command: 'cat </etc/passwd' }, true],
    [{ command: 'cat 2>/etc/x' }, true],
    [{ command: 'tar --file=/etc/x' }, true],
    [{ command: 'cat ~/.ssh/id_rsa' }, true],
    [{ command: 'cat $HOME/.ssh/id_rsa' }, true],
    [{ command: 'cat ../../etc/passwd' }, true],
    [{ command: 'cat a.txt' }, false],
    [{ x: 1, y: null }, false],
    [{}, false],
  ])('within: %j', (args, expected) => {
    expect(leaves('within: [/w, /tmp/], not_within: [/w/secret]', args)).toBe(expected);
  });

  it.each([
    ['ls -la', false],
    ['git status', false],
    ['rm -rf x', true],
    ['lsof', true],
    ['"ls" x', false],
    ['ls; rm x', true],
    ['ls && rm', true],
    ['ls | sh', true],
    ['ls\nrm', true],
    ['ls $(rm)', true],
    ['ls `rm`', true],
    ['ls $\u007bX}', true],
    ["ls $'x'", true],
    ['ls <(rm)', true],
    ['ls << EOF', true],
    ['ls $X', false],
    ['> ls', true],
    ['', true],
  ])('commands: %j', (command, expected) => {
    expect(leaves('allows: {commands: [ls, git]}', { command })).toBe(expected);
  });

  it.each([';', '|', '&', '\n', '\r', '`', '$(', '${', "$'", '<(', '>(', '<<'])(
    'takes %j in a command for a breach, in every sandbox',
    (mark) => {
      expect(leaves('allows: {commands: [ls]}', { command: `ls a${mark}b` })).toBe(true);
      expect(leaves('within: [/w]', { command: `ls a${mark}b` })).toBe(true);
      expect(leaves('allows: {domains: ["*"]}', { command: `ls a${mark}b` })).toBe(true);
    },
  );

  it.each([
    'path',
    'file_path',
    'filePath',
    'directory',
    'dir',
    'folder',
    'target',
    'destination',
    'source',
    'src',
    'dst',
  ])('takes the argument %s for a path, also a relative one and inside others', (name) => {
    expect(leaves('within: [/w]', { [name]: 'etc/passwd' })).toBe(true);
    expect(leaves('within: [/w]', { a: [{ b: { [name]: 'etc/passwd' } }] })).toBe(true);
    expect(leaves('within: [/w]', { [name]: '/w/x' })).toBe(false);
    expect(leaves('within: [/w]', { [`${name}x`]: 'etc/passwd' })).toBe(false);
  });

  it('looks into arguments four levels deep', () => {
    expect(leaves('within: [/w]', { a: { b: { c: { d: { e: '/etc' } } } } })).toBe(true);
    expect(leaves('within: [/w]', { a: { b: { c: { d: { e: { f: '/etc' } } } } } })).toBe(false);
  });

  it('judges chained commands even where none is listed, and nothing without a command', () => {
    expect(leaves('within: [/w]', { command: 'ls; rm' })).toBe(true);
    expect(leaves('allows: {commands: [ls]}', {})).toBe(false);
    expect(
      evaluateCall(box('allows: {commands: [ls]}'), { tool: 't', args: { command: ['rm'] } }).policyError,
    ).toBe(true);
  });

  it.each([
    ['https://api.x.com/path', false],
    ['https://API.X.COM', false],
    ['https://x.com', true],
    ['https://y.com', false],
    ['https://bad.x.com/', true],
    ['https://api.x.com.evil.com', true],
    ['https://api.x.com@evil.com/', true],
    ['https://evil.com#api.x.com', true],
    ['https://api.x.com./', false],
    ['see https://y.com and https://evil.com now', true],
    ['(https://y.com)', true],
    ['"https://y.com"', false],
    ['ftp://evil.com', true],
    ['weird://Y.com/', false],
    ['https://y.com:8443/x?u=https://z.com', false],
    ['http://[::1]/', true],
    ['http://', true],
    ['no url here', false],
    ['://', false],
    ['file:///w/a', false],
  ])('domains: %j', (url, expected) => {
    expect(leaves('allows: {domains: ["*.x.com", "y.com"]}, not_allows: {domains: ["bad.*"]}', { url })).toBe(
      expected,
    );
  });

  it('resolves paths as the caller does', () => {
    const bundle = compiled(
      bundleOf(
        '  - {id: box, type: sandbox, tools: [t, u*], within: [/w], message: "{args.path} is outside", outside: approve}',
      ),
      {
        canonical: (path) => (path === '/w/link' ? '/etc' : path),
      },
    );
    expect(evaluateCall(bundle, { tool: 'unzip', args: { path: '/w/link' } })).toMatchObject({
      verdict: 'approve',
      source: 'yaml_sandbox',
      reason: '/w/link is outside',
    });
    expect(evaluateCall(bundle, { tool: 'x', args: { path: '/w/link' } }).verdict).toBe('allow');
  });
});
