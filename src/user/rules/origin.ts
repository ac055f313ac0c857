// Origin of a sign-in, as a session shows it: a network instead of an address, a browser in a few words. Pure.

/** The /24 of an IPv4 address; an IPv6 network shortened to its /48. Null for what is neither. */
export function subnetOf(network: string): string | null {
  const four = /^(\d{1,3}\.\d{1,3}\.\d{1,3})\.\d{1,3}$/.exec(network);
  if (four) return `${four[1]}.0/24`;
  const six = /^([0-9a-f:]+)::\/64$/i.exec(network);
  if (!six?.[1]) return null;
  return `${six[1].split(':').slice(0, 3).join(':')}::/48`;
}

/** By their words in the User-Agent header; the first that fits, because most name others as well. */
const browsers = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
  ['curl/', 'curl'],
] as const;

const systems = [
  ['Android', 'Android'],
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Windows', 'Windows'],
  ['Mac OS X', 'macOS'],
  ['Linux', 'Linux'],
] as const;

/** `Firefox on Linux`, of a User-Agent header; null when it names no browser that is known. */
export function browserOf(userAgent: string | null): string | null {
  const text = (userAgent ?? '').slice(0, 512);
  const browser = browsers.find(([word]) => text.includes(word))?.[1];
  if (browser === undefined) return null;
  const system = systems.find(([word]) => text.includes(word))?.[1];
  return system === undefined ? browser : `${browser} on ${system}`;
}
