// The files under /downloads/: the matching agent library, packed by the build. Reads no disk.
import { HubError } from '../shared/error.ts';
import type { StaticFolder } from '../shared/ports/static-folder.ts';
import { matchesEtag } from './contract/etag.ts';
import { plain } from './encode.ts';
import type { HeaderList } from './headers.ts';
import type { StaticFiles } from './static-files.ts';

export const downloadsPath = '/downloads/';

/** @param folder null when nothing was packed: every name is then missing */
export function createDownloads(folder: StaticFolder | null): StaticFiles {
  return {
    answer({ method, path, headers }) {
      if (!path.startsWith(downloadsPath)) return null;
      if (method !== 'GET' && method !== 'HEAD') {
        throw new HubError('method_not_allowed', 'Method Not Allowed', { allow: ['GET'] });
      }
      const name = path.slice(downloadsPath.length) || 'index.html';
      const file = path === `${downloadsPath}index.html` ? undefined : folder?.get(name);
      if (!file) {
        const reason = folder
          ? 'Not Found'
          : 'The agent library is not built. Run npm run build, then restart the hub.';
        throw new HubError('not_found', reason);
      }
      const caching: HeaderList = [
        ['Cache-Control', 'no-cache'],
        ['ETag', file.etag],
      ];
      if (matchesEtag(headers.get('if-none-match'), file.etag)) return plain(304, caching, null);
      const disposition: HeaderList = name.endsWith('.tgz')
        ? [['Content-Disposition', `attachment; filename="${name}"`]]
        : [];
      return plain(200, [['Content-Type', file.type], ...disposition, ...caching], file.identity);
    },
  };
}
