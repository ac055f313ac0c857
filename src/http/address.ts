// Who is really at the other end: client addresses behind trusted proxies. Resolves no names.
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
 * Makes the function that finds the client's address.
 * @param trusted addresses or CIDR ranges of proxies whose X-Forwarded-For is believed; @throws Error for an entry that is neither
 */
export function clientAddress(trusted: readonly string[]): (remote: string, forwarded: string) => string {
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
  const isProxy = (address: string): boolean =>
    trusted.length > 0 && proxies.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');

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
