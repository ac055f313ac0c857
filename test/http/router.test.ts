import { describe, expect, it } from 'vitest';
import { routes } from '../../src/http/contract/route.ts';
import { createRouter, type Match } from '../../src/http/router.ts';

const of = (method: 'GET' | 'POST' | 'PUT', path: string) =>
  ({
    method,
    path,
    auth: [],
    role: 'nobody',
    envs: 'none',
    tag: 't',
    summary: 's',
    status: 200,
    errors: [],
  }) as const;

const router = createRouter([
  routes({
    list: of('GET', '/api/v1/bundles'),
    evaluate: of('POST', '/api/v1/bundles/evaluate'),
    one: of('GET', '/api/v1/bundles/{name}'),
    current: of('GET', '/api/v1/bundles/{name}/current'),
    version: of('GET', '/api/v1/bundles/{name}/{version}'),
    batch: of('POST', '/api/v1/sessions/batch'),
    value: of('GET', '/api/v1/sessions/{key+}'),
    put: of('PUT', '/api/v1/sessions/{key+}'),
    bump: of('POST', '/api/v1/sessions/{key+}/increment'),
  }),
]);

const at = (method: string, path: string): [string, object] | readonly string[] | null => {
  const found = router.match(method, path);
  return found && 'route' in found ? [(found as Match).route.name, found.params] : found;
};

describe('router', () => {
  it('lets a fixed segment win over a parameter, for its own method only', () => {
    expect(at('POST', '/api/v1/bundles/evaluate')).toEqual(['evaluate', {}]);
    expect(at('GET', '/api/v1/bundles/evaluate')).toEqual(['one', { name: 'evaluate' }]);
    expect(at('GET', '/api/v1/bundles/b/current')).toEqual(['current', { name: 'b' }]);
    expect(at('GET', '/api/v1/bundles/b/3')).toEqual(['version', { name: 'b', version: '3' }]);
    expect(at('POST', '/api/v1/sessions/batch')).toEqual(['batch', {}]);
    expect(at('GET', '/api/v1/sessions/batch')).toEqual(['value', { key: 'batch' }]);
  });

  it('gives a tail the rest of the path, slashes raw or encoded, and leaves a fixed end to its route', () => {
    expect(at('GET', '/api/v1/sessions/a/b%2Fc')).toEqual(['value', { key: 'a/b/c' }]);
    expect(at('POST', '/api/v1/sessions/a/b/increment')).toEqual(['bump', { key: 'a/b' }]);
    expect(at('POST', '/api/v1/sessions/increment/increment')).toEqual(['bump', { key: 'increment' }]);
    expect(at('GET', '/api/v1/sessions/a/increment')).toEqual(['value', { key: 'a/increment' }]);
    expect(at('GET', '/api/v1/sessions/')).toBeNull();
  });

  it('names the methods a path has when the method is another', () => {
    expect(at('PUT', '/api/v1/bundles')).toEqual(['GET']);
    expect(at('DELETE', '/api/v1/sessions/batch')).toEqual(['GET', 'POST', 'PUT']);
    expect(at('GET', '/api/v1/nothing')).toBeNull();
  });

  it('decodes exactly once and normalises nothing', () => {
    expect(at('GET', '/api/v1/bundles/a%252e')).toEqual(['one', { name: 'a%2e' }]);
    expect(at('GET', '/api/v1/bundles/a%2Fb')).toEqual(['one', { name: 'a/b' }]);
    expect(at('GET', '/api/v1/bundles/..')).toEqual(['one', { name: '..' }]);
    expect(at('GET', '/api/v1/x/../bundles')).toBeNull();
    expect(at('GET', '/api/v1/%62undles')).toBeNull();
    expect(at('GET', '/api/v1/bundles/')).toBeNull();
    expect(at('GET', 'api/v1/bundles')).toBeNull();
  });

  it('refuses NUL and escapes that are not UTF-8', () => {
    for (const path of [
      '/api/v1/bundles/a%00',
      '/api/v1/bundles/%zz',
      '/api/v1/sessions/%ff',
      '/api/v1/sessions/a/%',
    ])
      expect(() => at('GET', path)).toThrowError(expect.objectContaining({ code: 'bad_request' }));
  });

  it('does not start with two routes of one name or one place', () => {
    expect(() => createRouter([{ a: of('GET', '/x') }, { a: of('GET', '/y') }])).toThrow('named a');
    expect(() => createRouter([{ a: of('GET', '/x/{p}'), b: of('GET', '/x/{q}') }])).toThrow(
      'declared twice',
    );
  });
});
