// Client addresses behind trusted proxies. Resolves no names.
import { BlockList, isIP } from 'node:net';

/** Canonical text of an address (IPv4-mapped IPv6 as IPv4, IPv6 compressed), or null when it is not one. */
export function canonicalAddress(text: string): string | null {
  const bare = text.startsWith('[') ? text.slice(1, text.indexOf(']')) : text;
  const version = isIP(bare);
  if (version === 4) return bare;
  if (version === 0) {
    const colon = bare.lastIndexOf(':');
    const host = bare.slice(0, colon);
    return colon > 0 && isIP(host) === 4 ? host : null;
  }
  if (bare.includes('%')) return null;
  const short = new URL(`http://[${bare}]/`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(short);
  if (!mapped) return short;
  const high = Number.parseInt(mapped[1] ?? '0', 16);
  const low = Number.parseInt(mapped[2] ?? '0', 16);
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}

/**
 * The network that limits count as one: an IPv4 address, or the /64 of an IPv6 address, because a single customer has
 * at least that many addresses.
 * @param address from `canonicalAddress`; other texts are returned unchanged
 */
export function networkOf(address: string): string {
  if (!address.includes(':') || isIP(address) !== 6) return address;
  const [head = '', tail = ''] = address.split('::');
  const first = head === '' ? [] : head.split(':');
  const last = tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => '0');
  return `${[...first, ...zeros, ...last].slice(0, 4).join(':')}::/64`;
}

/** Headers that proxies add, by the names that are in use; a request that has one may come from anywhere. */
const forwarding =
  /^(?:forwarded|via|x-(?:forwarded|original|envoy|azure|arr)(?:-.*)?|x-real-ip|x-proxyuser-ip|.*-(?:client|connecting|user)-ip)$/;
const loopback = /^(127(\.\d{1,3}){3}|::1)$/;

/**
 * True when a request was sent on this machine itself. The name that it was sent to counts: a web page can make
 * its visitor's browser send requests to loopback under a name of its own.
 */
export function isLocal(remote: string, headers: ReadonlyMap<string, string>): boolean {
  if (!isLoopback(remote)) return false;
  for (const name of headers.keys()) if (forwarding.test(name)) return false;
  const host = (headers.get('host') ?? '').toLowerCase().replace(/:\d+$/, '');
  return host === 'localhost' || isLoopback(host);
}

/** @param text an address or a host */
export const isLoopback = (text: string): boolean => loopback.test(canonicalAddress(text) ?? '');

/**
 * Makes the test whether an address is a trusted proxy's.
 * @param trusted addresses or CIDR ranges; @throws Error for an entry that is neither
 */
export function proxyTest(trusted: readonly string[]): (address: string) => boolean {
  const proxies = new BlockList();
  for (const entry of trusted) {
    const [host = '', bits, more] = entry.trim().split('/');
    const address = canonicalAddress(host);
    const family = address !== null && isIP(address) === 6 ? 'ipv6' : 'ipv4';
    const width = family === 'ipv6' ? 128 : 32;
    const prefix = bits === undefined ? width : Number(bits);
    if (address === null || more !== undefined || !/^\d*$/.test(bits ?? '') || prefix > width) {
      throw new Error(`TRUSTED_PROXIES: '${entry}' is neither an address nor a range such as 10.0.0.0/8`);
    }
    proxies.addSubnet(address, prefix, family);
  }
  return (address) => trusted.length > 0 && proxies.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

/**
 * Makes the function that finds the client's address.
 * @param trusted as of `proxyTest`: the proxies whose X-Forwarded-For is believed
 */
export function clientAddress(trusted: readonly string[]): (remote: string, forwarded: string) => string {
  const isProxy = proxyTest(trusted);
  return (remote, forwarded) => {
    let address = canonicalAddress(remote) ?? remote;
    if (!forwarded || !isProxy(address)) return address;
    const hops = forwarded.split(',');
    for (let i = hops.length - 1; i >= 0; i--) {
      const hop = canonicalAddress((hops[i] ?? '').trim());
      // A hop that is not an address was not written by a proxy of ours: what stands left of it is not to be believed.
      if (hop === null) return address;
      address = hop;
      if (!isProxy(hop)) return hop;
    }
    return address;
  };
}
