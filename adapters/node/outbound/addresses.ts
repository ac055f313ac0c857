// Which addresses of the internet the hub may call: the special ranges of both families. Resolves no names.
import { BlockList, isIP } from 'node:net';

/** Reachable with ALLOW_PRIVATE_OUTBOUND: this machine and private networks (RFC 1918, RFC 4193). */
const privateRanges = [
  '127.0.0.0/8',
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '::1/128',
  'fc00::/7',
] as const;

/**
 * IPv4: the special-purpose registry (RFC 6890 and its updates), multicast, and an address of one cloud's own services.
 */
const special4 = [
  '0.0.0.0/8',
  '100.64.0.0/10',
  '169.254.0.0/16',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '168.63.129.16/32',
] as const;

/**
 * IPv6: only global unicast is public. Addresses that carry an IPv4 address (mapped, NAT64, 6to4, Teredo) are outside
 * of global unicast, or listed here.
 */
const global6 = '2000::/3';
const special6 = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20'] as const;

function listOf(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [network = '', bits] = range.split('/');
    list.addSubnet(network, Number(bits), isIP(network) === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}

export type AddressKind = 'public' | 'loopback' | 'private' | 'special';

/** Makes the judge of addresses; anything that is no plain address text is `special`. */
export function addressKinds(): (address: string) => AddressKind {
  const loopback = listOf(['127.0.0.0/8', '::1/128']);
  const own = listOf(privateRanges);
  const unreachable = listOf(special4);
  const unreachable6 = listOf(special6);
  const global = listOf([global6]);
  return (address) => {
    const version = isIP(address);
    if (version === 0 || address.includes('%')) return 'special';
    if (version === 4) {
      if (loopback.check(address, 'ipv4')) return 'loopback';
      if (own.check(address, 'ipv4')) return 'private';
      return unreachable.check(address, 'ipv4') ? 'special' : 'public';
    }
    // A BlockList looks into mapped IPv4 addresses; here they are special whatever they hold.
    if (mapped(address)) return 'special';
    if (loopback.check(address, 'ipv6')) return 'loopback';
    if (own.check(address, 'ipv6')) return 'private';
    return global.check(address, 'ipv6') && !unreachable6.check(address, 'ipv6') ? 'public' : 'special';
  };
}

const mapped = (address: string): boolean => new URL(`http://[${address}]/`).hostname.startsWith('[::ffff:');
