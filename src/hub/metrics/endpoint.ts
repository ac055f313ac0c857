// The two ways to /metrics: on the main port by a bearer token, or on a port of its own.
import { createServer } from 'node:http';
import type { Registry } from 'prom-client';
import { plain } from '../../http/encode.ts';
import type { Exposition } from '../../http/pipeline.ts';
import { portTaken } from '../../http/server.ts';
import { HubError } from '../../shared/error.ts';
import type { Secrets } from '../../shared/ports/secrets.ts';
import type { MetricsSettings } from './settings.ts';
import { metricsText } from './text.ts';

export const metricsPath = '/metrics';
const maxConnections = 32;
const requestMs = 10_000;

/** Undefined without a token: the path then does not exist on the main port. */
export function expositionOf(
  { token }: MetricsSettings,
  registry: Registry,
  secrets: Pick<Secrets, 'sha256' | 'equal'>,
): Exposition | undefined {
  if (token === null) return undefined;
  const expectedHash = secrets.sha256(token);
  return {
    path: metricsPath,
    async answer(raw) {
      const { method, headers } = raw;
      await raw.body();
      if (method !== 'GET' && method !== 'HEAD')
        throw new HubError('method_not_allowed', 'Method Not Allowed', { allow: ['GET'] });
      const [, sentToken = ''] = /^Bearer +(\S+)$/i.exec(headers.get('authorization') ?? '') ?? [];
      if (!secrets.equal(secrets.sha256(sentToken), expectedHash))
        throw new HubError(
          'unauthenticated',
          'METRICS_TOKEN is missing or wrong. Send it as a bearer token.',
        );
      const text = await metricsText(registry);
      return plain(
        200,
        [
          ['Content-Type', registry.contentType],
          ['Cache-Control', 'no-store'],
        ],
        text,
      );
    },
  };
}

/** @throws HubError unavailable when the port is taken */
export async function listenForScrapes(
  { listen }: MetricsSettings,
  registry: Registry,
): Promise<{ close(): void } | null> {
  if (listen === null) return null;
  const server = createServer(
    { requestTimeout: requestMs, headersTimeout: requestMs },
    (request, response) => {
      const isScrape = request.url === metricsPath && (request.method === 'GET' || request.method === 'HEAD');
      if (!isScrape) {
        response.writeHead(404, { 'Content-Type': 'text/plain', Connection: 'close' }).end('Not Found\n');
        return;
      }
      metricsText(registry).then(
        (text) => response.writeHead(200, { 'Content-Type': registry.contentType }).end(text),
        () => response.writeHead(500).end(),
      );
    },
  );
  server.maxConnections = maxConnections;
  await new Promise<void>((resolve, reject) => {
    server.once('error', () =>
      reject(
        new HubError(
          'unavailable',
          portTaken(listen.host, listen.port).replace('PORT or HOST', 'METRICS_PORT or METRICS_HOST'),
        ),
      ),
    );
    server.listen(listen.port, listen.host, resolve);
  });
  return {
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
