import { describe, expect, it } from 'vitest';
import { canonicalAddress, clientAddress } from '../../src/http/address.ts';

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
