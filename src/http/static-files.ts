// The web console's files: which of them a path means, in which encoding, and how long a browser may keep it. Reads no
// disk. Keeps promise P45.
import { HubError } from '../shared/error.ts';
import type { StaticFolder } from '../shared/ports/static-folder.ts';
import { matchesEtag } from './contract/etag.ts';
import { plain } from './encode.ts';
import type { HeaderList } from './headers.ts';
import type { RawRequest, RawResponse } from './raw.ts';

export interface StaticFiles {
  /**
   * The answer for a path of these files; null for every other path.
   * @throws HubError not_found, method_not_allowed
   */
  answer(request: Pick<RawRequest, 'method' | 'path' | 'headers'>): RawResponse | null;
}

const base = '/dashboard/';
/** Files whose names hold a hash of their content. */
const hashed = 'assets/';

/** @param folder null when the console was not built: its paths then answer so */
export function createStaticFiles(folder: StaticFolder | null): StaticFiles {
  return {
    answer({ method, path, headers }) {
      const isRoot = path === '/';
      if (!isRoot && path !== base.slice(0, -1) && !path.startsWith(base)) return null;
      if (method !== 'GET' && method !== 'HEAD') {
        throw new HubError('method_not_allowed', 'Method Not Allowed', { allow: ['GET'] });
      }
      if (isRoot) return plain(302, [['Location', base], ...always], null);
      const name = path.slice(base.length);
      // Every other path is a page of the console: the browser finds it.
      const file = folder?.get(name) ?? (name.startsWith(hashed) ? undefined : folder?.get('index.html'));
      if (!file) {
        const why = folder
          ? 'Not Found'
          : 'The web console is not built. Run npm run build, then restart the hub.';
        throw new HubError('not_found', why);
      }
      const caching: HeaderList = [
        ['Cache-Control', name.startsWith(hashed) ? 'public, max-age=31536000, immutable' : 'no-cache'],
        ['ETag', file.etag],
        ['Vary', 'Accept-Encoding'],
      ];
      if (matchesEtag(headers.get('if-none-match'), file.etag)) return plain(304, caching, null);
      const accepted = codings(headers.get('accept-encoding') ?? '');
      const type: HeaderList = [['Content-Type', file.type], ...caching];
      if (file.br && accepted.has('br')) return plain(200, [['Content-Encoding', 'br'], ...type], file.br);
      if (file.gzip && accepted.has('gzip')) {
        return plain(200, [['Content-Encoding', 'gzip'], ...type], file.gzip);
      }
      return plain(200, type, file.identity);
    },
  };
}

const always: HeaderList = [['Cache-Control', 'no-cache']];

/** The content codings that a client takes, without those it refuses by `;q=0`. */
function codings(header: string): Set<string> {
  const taken = header
    .toLowerCase()
    .split(',')
    .map((part) => part.split(';').map((word) => word.trim()))
    .filter(([, q]) => q === undefined || !/^q=0(\.0*)?$/.test(q));
  return new Set(taken.map(([name = '']) => name));
}
