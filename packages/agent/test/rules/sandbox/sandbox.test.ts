import { describe, expect, it } from 'vitest';
import { evaluateCall } from '../../../src/rules/evaluate/live.ts';
import type { Files } from '../../../src/rules/sandbox/path.ts';
import { bundleOf, compiled } from '../evaluate/rules.ts';
import { leaves } from './sandboxes.ts';

describe('sandboxes', () => {
  it.each([
    [{ path: '/w/a.txt' }, false],
    [{ path: '/w' }, false],
    [{ path: '/w/' }, false],
    [{ path: '/w/../etc/passwd' }, true],
    [{ path: '/w/./a/../b' }, false],
    [{ path: '//w//a' }, false],
    [{ path: '/wx/a' }, true],
    [{ path: '/w/%2e%2e/etc' }, true],
    [{ path: '/w/100%25/a%20b' }, false],
    [{ path: '/w/secret/key' }, true],
    [{ path: '/w/secrets' }, false],
    [{ path: '/w/a/../secret' }, true],
    [{ path: 'etc/passwd' }, false],
    [{ path: '../etc/passwd' }, true],
    [{ path: 'secret/key' }, true],
    [{ path: '~/x' }, true],
    [{ filePath: '/etc' }, true],
    [{ dst: '/w/a', src: '/etc/passwd' }, true],
    [{ note: '/etc/passwd' }, true],
    [{ note: 'see /etc/passwd' }, false],
    [{ deep: { a: [{ b: '/etc/passwd' }] } }, true],
    [{ deep: { path: '../etc' } }, true],
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
    ['ls $X', true],
    ["git commit -m 'a; b && c | d'", false],
    ['git commit -m "fix: a & b"', false],
    ['git log "foo$"', true],
    ["git log 'foo$'", false],
    ['> ls', true],
    ['', true],
  ])('commands: %j', (command, expected) => {
    expect(leaves('allows: {commands: [ls, git]}', { command })).toBe(expected);
  });

  it.each([
    ';',
    '|',
    '&',
    '\n',
    '\r',
    '`',
    '$(',
    '$\u007b',
    "$'",
    '<(',
    '>(',
    '<<',
    '(',
    ')',
    '$A',
    '$1',
    '$@',
  ])('takes %j in a command for a breach, in every sandbox, but not in single quotes', (mark) => {
    expect(leaves('allows: {commands: [ls]}', { command: `ls a${mark}b` })).toBe(true);
    expect(leaves('within: [/w]', { command: `ls a${mark}b` })).toBe(true);
    expect(leaves('allows: {domains: ["*"]}', { command: `ls a${mark}b` })).toBe(true);
    if (!mark.includes("'")) expect(leaves('within: [/w]', { command: `ls 'a${mark}b'` })).toBe(false);
  });

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
    'filename',
    'paths',
    'output_path',
    'logFile',
    'cwd',
  ])('takes the argument %s for a path, also a relative one and inside others', (name) => {
    const outside = { cwd: '/elsewhere' };
    expect(leaves('within: [/w]', { [name]: 'etc/passwd' }, outside)).toBe(true);
    expect(leaves('within: [/w]', { a: [{ b: { [name]: 'etc/passwd' } }] }, outside)).toBe(true);
    expect(leaves('within: [/w]', { [name]: { x: ['etc/passwd'] } }, outside)).toBe(true);
    expect(leaves('within: [/w]', { [name]: '/w/x' }, outside)).toBe(false);
    expect(leaves('within: [/w]', { [`${name}x`]: 'etc/passwd' }, outside)).toBe(false);
  });

  it.each([
    ...['content', 'text', 'body', 'message', 'old_string', 'newString', 'pattern', 'regex', 'query'],
    ...['prompt', 'description', 'code', 'patch', 'diff', 'html', 'data'],
  ])('leaves the content of the argument %s alone, but not what is named below it', (name) => {
    const everything = 'within: [/w], allows: {domains: [allowed.com]}';
    expect(leaves(everything, { [name]: '/etc/passwd https://evil.com' })).toBe(false);
    expect(leaves(everything, { [name]: ['https://evil.com'] })).toBe(false);
    expect(leaves(everything, { [name]: { path: '../etc' } })).toBe(true);
    expect(leaves(everything, { [name]: { x: '/etc' } })).toBe(true);
    expect(leaves(everything, { paths: { [name]: '/etc/passwd' } })).toBe(false);
  });

  it('judges what an argument was declared to hold, whatever its name', () => {
    const declared = {
      toolArguments: {
        't*': { input: 'command', where: 'path', site: 'url', text: 'path' },
        t: { route: 'content', 'options.at': 'path', folder: 'cwd' },
      },
    } as const;
    const judged = (args: Record<string, unknown>, tool = 't') =>
      leaves('within: [/w], allows: {domains: [allowed.com], commands: [ls, cat]}', args, {
        ...declared,
        tool,
      });
    expect(judged({ input: 'rm x' })).toBe(true);
    expect(judged({ input: 'ls ../x' })).toBe(true);
    expect(judged({ input: 'ls x' })).toBe(false);
    expect(judged({ input: ['rm', 'x'] })).toBe(true);
    expect(judged({ where: 'a/../..' })).toBe(true);
    expect(judged({ where: { deep: ['..'] } })).toBe(true);
    expect(judged({ site: 'evil.com' })).toBe(true);
    expect(judged({ text: '..' })).toBe(true);
    expect(judged({ route: '/etc/passwd' })).toBe(false);
    expect(judged({ route: { path: '/etc/passwd' } })).toBe(false);
    expect(judged({ route: '/etc/passwd' }, 'two')).toBe(true);
    expect(judged({ options: { at: '..' } })).toBe(true);
    expect(judged({ input: 'cat ../x', folder: '/w/a' })).toBe(false);
    expect(judged({ input: 'cat ../../x', folder: '/w/a' })).toBe(true);
    expect(judged({ input: 'cat ../x', folder: '/etc' })).toBe(true);
    // A name below the argument is no folder.
    expect(judged({ input: 'cat ../x', folder: { 'a/b': [] } })).toBe(true);
    expect(judged({ where: '/etc/passwd', folder: { 'a/b': [] } })).toBe(true);
    const odd = { toolArguments: { t: { 'a:b': 'cwd' } } } as const;
    expect(leaves('within: [/w]', { 'a:b': 5, command: 'cat /etc/passwd' }, odd)).toBe(true);
  });

  it('judges what no name tells by its look: one line of 4,096 characters that is a path, a URL or a remote', () => {
    const everything = 'within: [/w], allows: {domains: [allowed.com]}';
    expect(leaves(everything, { x: 'see https://evil.com' })).toBe(true);
    expect(leaves(everything, { x: '/etc/passwd' })).toBe(true);
    expect(leaves(everything, { x: 'git@evil.com:x' })).toBe(true);
    expect(leaves(everything, { x: '/etc/passwd\nand more' })).toBe(false);
    expect(leaves(everything, { x: `/etc/${'x'.repeat(4_096)}` })).toBe(false);
    for (const x of [
      'etc/passwd',
      'and/or',
      'evil.com',
      '10:30',
      'a: b',
      'http: a protocol',
      '~5 minutes',
      '...',
      'x@y.z',
    ])
      expect([x, leaves(everything, { x })]).toEqual([x, false]);
  });

  it('judges the URLs among the words of such a line, wherever they stand, and nothing else of its words', () => {
    const everything = 'within: [/w], allows: {domains: [allowed.com]}';
    for (const x of [
      'see https://evil.com',
      'https://allowed.com https://evil.com',
      '/w/a https://evil.com',
      './a --from=https://evil.com',
      '[here](https://evil.com)',
      'mirror=ftp://evil.com/a',
    ])
      expect([x, leaves(everything, { x })]).toEqual([x, true]);
    for (const x of [
      'see https://allowed.com/x, and /etc/passwd',
      'see https://allowed.com. It is (https://allowed.com/a).',
      '(https://allowed.com)',
      '"https://allowed.com"',
      '/w/a https://allowed.com',
      'see https://evil.com\nand more',
      `see https://evil.com ${'x'.repeat(4_096)}`,
      'evil.com and git@evil.com',
    ])
      expect([x, leaves(everything, { x })]).toEqual([x, false]);
    // Nobody is refused for a host where the sandbox says nothing of hosts.
    expect(leaves('within: [/w]', { x: 'see https://evil.com' })).toBe(false);
    const toolArguments = { t: { x: 'content' } } as const;
    expect(leaves(everything, { x: 'see https://evil.com' }, { toolArguments })).toBe(false);
  });

  it('judges a file URL as the path that it is, and misses no host in it, where folders are named', () => {
    const both = 'within: [/w], allows: {domains: [allowed.com]}';
    for (const uri of ['file:///w/a', 'file:/w/a', 'FILE:///w/a%20b'])
      expect([uri, leaves(both, { textDocument: { uri } })]).toEqual([uri, false]);
    for (const uri of [
      'file:///etc/a',
      'file://evil.com/w/a',
      'file:///w/../etc',
      'file:///w/a https://evil.com',
    ])
      expect([uri, leaves(both, { uri })]).toEqual([uri, true]);
    expect(leaves('allows: {domains: [allowed.com]}', { uri: 'file:///w/a' })).toBe(true);
  });

  it('judges chained commands even where none is listed, and nothing without a command', () => {
    expect(leaves('within: [/w]', { command: 'ls; rm' })).toBe(true);
    expect(leaves('allows: {commands: [ls]}', {})).toBe(false);
    expect(leaves('allows: {commands: [ls]}', { command: ['rm', '-rf', 'x'] })).toBe(true);
    expect(leaves('allows: {commands: [ls]}', { command: ['ls', 'a;b', '$X'] })).toBe(false);
    const box = compiled(
      bundleOf('  - {id: box, type: sandbox, tool: "*", message: out, allows: {commands: [ls]}}'),
    );
    expect(evaluateCall(box, { tool: 't', args: { command: 5 } }).policyError).toBe(true);
  });

  it.each([
    ['https://api.x.com/path', false],
    ['https://API.X.COM', true],
    ['https://api.x.com', false],
    ['https://api.x.com:443/', true],
    [' https://api.x.com/', true],
    ['https://api.x.com/a/../b', true],
    ['api.x.com:443', false],
    ['https://x.com', true],
    ['https://y.com', false],
    ['https://bad.x.com/', true],
    ['https://api.x.com.evil.com', true],
    ['https://api.x.com@evil.com/', true],
    ['https://evil.com#api.x.com', true],
    ['https://api.x.com./', false],
    ['see https://y.com and https://evil.com now', true],
    ['(https://y.com)', true],
    ['https://y.com(@evil.com/', true],
    ['"https://y.com"', true],
    ['ftp://evil.com', true],
    ['weird://Y.com/', false],
    ['https://y.com:8443/x?u=https://z.com', false],
    ['http://[::1]/', true],
    ['http://', true],
    ['no url here', true],
    ['://', true],
    ['file:///w/a', true],
    ['y.com/path', false],
    ['https://y.com/a b', true],
    ['https://y.com/a%20b', false],
    ['see https://y.com. It is (https://api.x.com/a).', true],
  ])('domains: %j', (url, expected) => {
    expect(leaves('allows: {domains: ["*.x.com", "y.com"]}, not_allows: {domains: ["bad.*"]}', { url })).toBe(
      expected,
    );
  });

  it('takes relative paths from the folder of the call, else from the first folder of the sandbox', () => {
    const box = 'within: [/w, /x], not_within: [/w/secret]';
    expect(leaves(box, { command: 'cat ../a' })).toBe(true);
    expect(leaves(box, { command: 'cat ../a' }, { cwd: '/w/b' })).toBe(false);
    expect(leaves(box, { command: 'cat a' }, { cwd: '/etc' })).toBe(true);
    expect(leaves(box, { path: 'a' }, { cwd: '/etc' })).toBe(true);
    expect(leaves(box, { command: 'cat secret/key' })).toBe(true);
    expect(leaves(box, { command: 'cat s*/key' })).toBe(true);
    expect(leaves(box, { command: 'cat */*' }, { cwd: '/x' })).toBe(false);
    expect(leaves(box, { command: 'ls /w/*.ts' })).toBe(false);
    expect(leaves(box, { command: 'ls /w/secret/*' })).toBe(true);
  });

  it('judges links, names and globs as the files of the caller are', () => {
    const links: { readonly [path: string]: string } = { '/w/link': '/etc', '/w/a/same': '/w/b' };
    const listings: { readonly [path: string]: readonly string[] } = {
      '/w': ['link', 'file', 'a'],
      '/w/a': ['same', '.link'],
      '/w/many': Array.from({ length: 2_000 }, (_, i) => `l${i}`),
    };
    const resolve = (path: string, cwd: string): string => {
      const parts: string[] = [];
      for (const part of (path.startsWith('/') ? path : `${cwd}/${path}`).split('/')) {
        if (part === '..') parts.pop();
        else if (part !== '' && part !== '.') parts.push(part);
        const link = links[`/${parts.join('/')}`];
        if (link) parts.splice(0, parts.length, ...link.split('/').filter(Boolean));
      }
      return `/${parts.join('/')}`;
    };
    const files: Files = {
      cwd: '/w',
      canonical: resolve,
      exists: (path) => path === '/other/file' || path in links,
      list: (folder, max) => {
        const names = listings[folder] ?? [];
        return names.length > max
          ? null
          : names.map((name) => ({ name, isLink: name.startsWith('l') || name === 'same' }));
      },
    };
    const judged = (args: Record<string, unknown>, cwd?: string) =>
      leaves('within: [/w]', args, { files, ...(cwd === undefined ? {} : { cwd }) });
    expect(judged({ path: 'link/passwd' })).toBe(true);
    expect(judged({ path: 'file' })).toBe(false);
    expect(judged({ command: 'cat link' })).toBe(true);
    expect(judged({ command: 'touch link/new' })).toBe(true);
    expect(judged({ command: 'grep -flink x' })).toBe(true);
    expect(judged({ command: 'curl -d @link x' })).toBe(true);
    expect(judged({ command: 'tool --file=link' })).toBe(true);
    expect(judged({ command: 'cat a/same' })).toBe(false);
    expect(judged({ command: 'cat link/../a' })).toBe(true);
    expect(judged({ command: 'cat l*' })).toBe(true);
    expect(judged({ command: 'cat l[*' })).toBe(true);
    expect(judged({ command: 'cat a/*' })).toBe(false);
    expect(judged({ command: 'cat */passwd' })).toBe(false);
    expect(judged({ command: 'cat [l]ink' })).toBe(true);
    expect(judged({ command: 'cat many/*' })).toBe(true);
    expect(judged({ command: 'cat many/l1?' })).toBe(false);
    expect(judged({ command: "cat 'l*'" })).toBe(false);
    expect(judged({ command: `ls ${'a '.repeat(9_000)}` })).toBe(false);
    // More names than are looked up.
    expect(judged({ command: `ls ${'a '.repeat(10_001)}` })).toBe(true);
  });

  it('judges the words of each call apart from those of other calls', () => {
    const box = compiled(bundleOf('  - {id: box, type: sandbox, tool: "*", message: out, within: [/w]}'));
    const call = { tool: 't', args: { command: `ls ${'a '.repeat(6_000)}` } };
    for (let i = 0; i < 3; i++) expect(evaluateCall(box, call).verdict).toBe('allow');
  });

  it('fits the tools it names and asks where it says so', () => {
    const bundle = compiled(
      bundleOf(
        '  - {id: box, type: sandbox, tools: [t, u*], within: [/w], message: "{args.path} is outside", outside: approve}',
      ),
    );
    expect(evaluateCall(bundle, { tool: 'unzip', args: { path: '/etc' } })).toMatchObject({
      verdict: 'approve',
      source: 'yaml_sandbox',
      reason: '/etc is outside',
    });
    expect(evaluateCall(bundle, { tool: 'x', args: { path: '/etc' } }).verdict).toBe('allow');
  });
});
