import { describe, expect, it } from 'vitest';
import { canonicalAddress, clientAddress, isLocal, networkOf } from '../../src/http/address.ts';

describe('client address', () => {
  it('believes X-Forwarded-For from trusted proxies only', () => {
    const of = clientAddress(['10.0.0.0/8', '2001:db8::/32']);
    expect(of('203.0.113.9', '1.2.3.4')).toBe('203.0.113.9');
    expect(of('10.1.1.1', '1.2.3.4')).toBe('1.2.3.4');
    expect(of('0000:0000:0000:0000:0000:ffff:0a01:0101', '1.2.3.4')).toBe('1.2.3.4');
    expect(of('2001:db8::5', '2001:db9::1')).toBe('2001:db9::1');
    expect(clientAddress([])('10.1.1.1', '1.2.3.4')).toBe('10.1.1.1');
  });

  it('takes the rightmost hop that is not a proxy, so that a client cannot choose its own', () => {
    const of = clientAddress(['10.0.0.0/8']);
    expect(of('10.0.0.1', '6.6.6.6, 1.2.3.4, 10.9.9.9')).toBe('1.2.3.4');
    expect(of('10.0.0.1', '6.6.6.6, unknown, 10.9.9.9')).toBe('10.9.9.9');
    expect(of('10.0.0.1', '1.2.3.4:5678')).toBe('1.2.3.4');
    expect(of('10.0.0.1', '[2001:db8::1]:443')).toBe('2001:db8::1');
  });

  it('writes one address one way', () => {
    expect(canonicalAddress('0000:0000:0000:0000:0000:0000:0000:0001')).toBe('::1');
    expect(canonicalAddress('::ffff:127.0.0.1')).toBe('127.0.0.1');
    expect(canonicalAddress('no address')).toBeNull();
  });

  it('refuses a proxy list it cannot read', () => {
    for (const bad of ['10.0.0.0/33', 'proxy.example', '10.0.0.0/8/8', '::/129', '10.0.0.0/x'])
      expect(() => clientAddress([bad])).toThrow('TRUSTED_PROXIES');
  });
});

describe('the network that limits count', () => {
  it.each([
    ['203.0.113.9', '203.0.113.9'],
    ['2001:db8:0:7:1::9', '2001:db8:0:7::/64'],
    ['2001:db8:0:7:ffff:ffff:ffff:ffff', '2001:db8:0:7::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['1:2:3::', '1:2:3:0::/64'],
    ['', ''],
  ])('of %s is %s', (address, network) => {
    expect(networkOf(address)).toBe(network);
  });

  it('is the IPv4 address for one that is mapped into IPv6', () => {
    expect(networkOf(canonicalAddress('::ffff:203.0.113.9') ?? '')).toBe('203.0.113.9');
  });
});

describe('a request of this machine', () => {
  const headers = (more: { readonly [name: string]: string } = {}) =>
    new Map(Object.entries({ host: 'localhost:8000', ...more }));

  it.each(['127.0.0.1', '127.9.9.9', '0000:0000:0000:0000:0000:0000:0000:0001', '::ffff:127.0.0.1'])(
    'comes from %s',
    (remote) => {
      for (const host of ['localhost', 'LOCALHOST:8000', '127.0.0.1:1', '[::1]:8000', '[::1]'])
        expect([host, isLocal(remote, headers({ host }))]).toEqual([host, true]);
    },
  );

  it.each(['203.0.113.9', '10.0.0.1', '2001:db8::1', '::', ''])('does not come from %s', (remote) => {
    expect(isLocal(remote, headers())).toBe(false);
  });

  it.each([
    [{ 'x-forwarded-for': '127.0.0.1' }],
    [{ forwarded: 'for=127.0.0.1' }],
    [{ via: '1.1 proxy' }],
    [{ 'x-real-ip': '' }],
    [{ 'x-original-forwarded-for': '127.0.0.1' }],
    [{ 'x-cluster-client-ip': '127.0.0.1' }],
    [{ 'fastly-client-ip': '127.0.0.1' }],
    [{ 'cf-connecting-ip': '127.0.0.1' }],
    [{ 'x-envoy-external-address': '127.0.0.1' }],
    [{ host: 'evil.example' }],
    [{ host: 'localhost.evil.example' }],
    [{ host: '' }],
  ])('has no headers such as %j', (more) => {
    expect(isLocal('127.0.0.1', headers(more))).toBe(false);
  });
});
