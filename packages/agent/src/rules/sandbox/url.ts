// Hosts that a text names. A URL counts only in its canonical form: of every other form programs read different hosts.
import { compileHostGlobs } from '../evaluate/glob.ts';
import { type Budget, spend } from '../regex/regex.ts';
import type { WordKind } from './profiles/profile.ts';

/** Steps of a search for one host: a parser is asked. */
const workOfHost = 500;

const { raw } = String;
/**
 * A scheme with slashes, or one of those that browsers take with any number of slashes of either kind, or none. A
 * `file:` URL names no host.
 */
const scheme = raw`(?:(?<![a-z0-9+.-])(?!(?:(?:git|hg|svn|bzr)\+)?file:)[a-z0-9+.-]+:\/\/|(?:https?|wss?|ftps?):)`;
/** A URL at the start of a text. A scheme before a blank is prose, unless the blank may belong to an address. */
const urlAtStart = new RegExp(raw`^${scheme}(?!$| [^@\\\t\n\r]*$)`, 'i');
/** URLs in a text: an address ends at a blank or a path, a path at a blank or a mark, both before a sentence ends. */
const urlsIn = new RegExp(
  raw`${scheme}[\\/]*[^\s/?#]*(?:[/?#][^\s"'<>\x60,;|(){}]*)?(?<![)\]}>.,;'"!?])`,
  'gi',
);
/**
 * `host:path` by the kind of its text; the host stands behind the last `@`. A `ref` has a dot or an `@` before its
 * colon, and no branch behind it.
 */
const remote = /^(?:[^/:]*@)?([^@/:]+):/;
const remotes: { readonly [kind in WordKind]?: RegExp } = {
  host: /^[\w.+@-]+@([^\s@/:]+):[^\s"'<>`,;|(){}@]*$/,
  remote,
  archive: remote,
  ref: /^(?=[^:]*[.@])(?:[^/:]*@)?([^@/:]+):(?!refs\/)/,
};

/** Of an address with quotes, commas or brackets programs read different parts. */
const canonicalForm = /^[a-z][a-z0-9+-]*:\/\/[^\s\\/?#"'<>`,;|(){}]+(?:[/?#][^\s\\]*)?$/;

/** True if a text begins as a URL with a host does, or is `user@host:path`, as copying programs and git read it. */
export const looksLikeUrl = (text: string): boolean =>
  /^(?:[a-z][a-z0-9+.-]*:\/\/|(?:https?|wss?|ftps?):[\\/]|[^\s/:]+@[^\s@/:]+:\S*$)/i.test(text);

/**
 * The host of a canonical URL in lower case without a trailing dot. The host is "" for every other text, and for a
 * scheme with a dot, which some programs take for a host.
 */
function hostOf(url: string): string {
  if (!canonicalForm.test(url) || !URL.canParse(url)) return '';
  const { href, hostname } = new URL(url);
  const host = hostname.toLowerCase().replace(/\.$/, '');
  return (href === url || href === `${url}/`) && /^[a-z0-9._:[\]-]+$/.test(host) ? host : '';
}

/** The host of a text that is a name with a port or a path behind it. */
function hostOfName(text: string): string {
  if (!/^(?:[\w.+-]+@)?[^\s"'<>`,;|(){}@]+$/.test(text)) return '';
  // A port that one scheme leaves out of its canonical form stays in that of the other.
  return hostOf(`https://${text}`) || hostOf(`http://${text}`);
}

/** The hosts that a text of a kind names, with those of the URLs in it; "" for one that is not canonical. */
function hostsOf(text: string, kind: WordKind, budget: Budget): readonly string[] {
  const searches = text.split(':').length - (kind === 'host' ? 0 : 1);
  spend(budget, text.length + workOfHost * searches);
  // A scheme alone names no host.
  const urls = [...text.matchAll(urlsIn)].map(([url]) => url).filter((url) => !/^[^:]*:$/.test(url));
  const host = remotes[kind]?.exec(text)?.[1];
  if (urlAtStart.test(text.trim())) urls.push(text);
  else if (host !== undefined) urls.push(`https://${host}`);
  else if (kind === 'host') return [...urls.map(hostOf), hostOfName(text)];
  return urls.map(hostOf);
}

/** True if a host that a text of a kind names is refused. */
export type HostTest = (text: string, kind: WordKind, budget: Budget) => boolean;

/** Refuses hosts that match no glob of `domains` (null: all match), or one of `notDomains`. */
export function hostTest(domains: readonly string[] | null, notDomains: readonly string[]): HostTest {
  if (!domains && notDomains.length === 0) return () => false;
  const [isInside, isOutside] = [compileHostGlobs(domains ?? ['*']), compileHostGlobs(notDomains)];
  const globs = notDomains.length + (domains?.length ?? 1);
  return (text, kind, budget) =>
    hostsOf(text, kind, budget).some((host) => {
      spend(budget, globs * (1 + (host.length >> 2)));
      // The empty host stands for a text that is no canonical URL.
      return host === '' || isOutside(host) || !isInside(host);
    });
}
