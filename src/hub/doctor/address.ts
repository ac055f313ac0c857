// Checks of the way to the hub: the certificate of its address, and what proxies in front of it do to requests. Where
// no hub listens yet, it answers by itself on the hub's port, so that a proxy can be tried before the first start.
import { createServer, request as httpRequest, type IncomingMessage, type Server } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import { connect as tlsConnect } from 'node:tls';
import { systemClock } from '../../../adapters/node/clock.ts';
import type { Secrets } from '../../shared/ports/secrets.ts';
import { camelKeys } from '../../shared/snake-keys.ts';
import type { Config } from '../config.ts';
import {
  byteEveryMs,
  bytes,
  isProof,
  isStreamAsked,
  type ProbeReport,
  probePath,
  probeReport,
  proofHeader,
  proofOf,
} from '../probe.ts';
import { attempt, type CheckResult, failure, ok, warning } from './check-result.ts';

const answerMs = 5_000;
/** A byte that comes later was held by a proxy. */
const firstByteMs = 2_000;
const dayMs = 86_400_000;
/** Deadlines of approvals and the validity of tokens go by the hub's clock. */
const clockWarningMs = 1_000;
const shortCertificateDays = 14;
const maxAnswer = 64 * 1024;

type Proof = Pick<Secrets, 'proof' | 'equal'>;

interface Answer {
  readonly status: number;
  readonly text: string;
  /** Milliseconds until the first byte of the body, and until its end. */
  readonly firstMs: number;
  readonly endMs: number;
}

/** @param url of the hub, without a slash at its end */
function ask(url: string, headers: { readonly [name: string]: string }, untilMs = answerMs): Promise<Answer> {
  const target = new URL(url + probePath);
  const begun = systemClock.monotonic();
  const send = target.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    // The certificate is a check of its own.
    const sent = send(target, { headers, rejectUnauthorized: false, agent: false });
    const timer = systemClock.after(untilMs, () =>
      sent.destroy(new Error(`No answer within ${untilMs / 1000} s.`)),
    );
    const end = (response: IncomingMessage, text: string, firstMs: number): void => {
      timer.cancel();
      resolve({ status: response.statusCode ?? 0, text, firstMs, endMs: systemClock.monotonic() - begun });
    };
    sent.on('error', (error) => {
      timer.cancel();
      reject(error);
    });
    sent.on('upgrade', (response, socket) => {
      socket.destroy();
      end(response, '', 0);
    });
    sent.on('response', (response) => {
      let text = '';
      let firstMs = Number.POSITIVE_INFINITY;
      response.setEncoding('utf8');
      response.on('data', (piece: string) => {
        firstMs = Math.min(firstMs, systemClock.monotonic() - begun);
        if (text.length < maxAnswer) text += piece;
      });
      response.on('end', () => end(response, text, firstMs));
      response.on('error', reject);
    });
    sent.end();
  });
}

/** Answers the probe where no hub does yet. @throws Error if the port is taken */
export function listenForProbe(
  { host, port, trustedProxies }: Pick<Config, 'host' | 'port' | 'trustedProxies'>,
  secrets: Proof,
): Promise<Server> {
  const server = createServer((request, response) => {
    const headers = new Map(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    const isAsked =
      request.url === probePath && isProof(secrets, headers.get(proofHeader) ?? '', systemClock.now());
    if (!isAsked) {
      response.writeHead(404, { Connection: 'close' }).end();
      return;
    }
    if (!isStreamAsked(headers)) {
      const remote = request.socket.remoteAddress ?? '';
      const report = probeReport({ remote, headers }, trustedProxies, systemClock.now());
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(report));
      return;
    }
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
    let sent = 0;
    const timer = systemClock.every(byteEveryMs, () => {
      response.write(':\n');
      sent += 1;
      if (sent < bytes) return;
      timer.cancel();
      response.end();
    });
    response.on('close', () => timer.cancel());
  });
  server.maxConnections = 64;
  // Without a handler, a request for an upgrade is answered as any other.
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve(server));
  });
}

function certificate(url: URL): Promise<CheckResult> {
  const check = 'certificate';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return new Promise((resolve) => {
    const socket = tlsConnect(
      {
        host,
        port: Number(url.port || 443),
        // RFC 6066: an address is no server name.
        ...(isIP(host) === 0 ? { servername: host } : {}),
        timeout: answerMs,
        rejectUnauthorized: false,
      },
      () => {
        const validTo = socket.getPeerCertificate().valid_to ?? '';
        const reason = socket.authorized ? null : String(socket.authorizationError);
        socket.destroy();
        const days = Math.floor((Date.parse(validTo) - systemClock.now()) / dayMs);
        if (reason !== null)
          return resolve(
            failure(check, `Clients refuse the certificate (${reason}).`, 'Install one that clients trust.'),
          );
        const detail = `The certificate is valid for ${days} days.`;
        resolve(days < shortCertificateDays ? warning(check, detail, 'Renew it.') : ok(check, detail));
      },
    );
    socket.on('timeout', () => socket.destroy(new Error(`No answer within ${answerMs / 1000} s.`)));
    socket.on('error', (error) => resolve(failure(check, error.message, 'Check the server at BASE_URL.')));
  });
}

function forwardedFinding({ address, peer, forwardedFor: forwarded }: ProbeReport): CheckResult {
  const check = 'forwarded_for';
  if (forwarded === null) return ok(check, `No proxy names the client: the hub sees ${address}.`);
  if (address !== peer) return ok(check, `The hub sees the client ${address} behind the proxy ${peer}.`);
  return warning(
    check,
    `The proxy ${peer} sends X-Forwarded-For, but the hub does not trust it: limits count all clients as one.`,
    `Add ${peer} to TRUSTED_PROXIES.`,
  );
}

/** The hub answered at some moment between the request and the end of its answer. */
function clockFinding({ time }: ProbeReport, begun: number, { endMs }: Answer): CheckResult {
  const check = 'hub_clock';
  const errorMs = Math.max(0, begun - time, time - (begun + Math.ceil(endMs)));
  const detail = `The hub's clock differs from this machine's by ${errorMs} ms.`;
  return errorMs > clockWarningMs
    ? warning(check, detail, 'Synchronise the clocks of both machines (NTP).')
    : ok(check, detail);
}

const upgradeHeaders = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
};

async function throughProxies(url: string, secrets: Proof): Promise<readonly CheckResult[]> {
  const headers = (): { [name: string]: string } => ({ [proofHeader]: proofOf(secrets, systemClock.now()) });
  const begun = systemClock.now();
  const first = await ask(url, headers());
  if (first.status !== 200) {
    const advice =
      'Let the address lead to this hub, with the same SECRET_KEY and a right clock; a proxy must pass all paths and headers.';
    return [failure('base_url', `${url} answers ${first.status} instead of the hub.`, advice)];
  }
  const report = camelKeys(JSON.parse(first.text)) as ProbeReport;
  const stream = await ask(
    url,
    { ...headers(), Accept: 'text/event-stream' },
    answerMs + bytes * byteEveryMs,
  );
  const isHeld =
    stream.status !== 200 || stream.firstMs > firstByteMs || stream.endMs - stream.firstMs < byteEveryMs;
  const upgraded = await ask(url, { ...headers(), ...upgradeHeaders });
  const upgrade = upgraded.status === 200 ? (JSON.parse(upgraded.text) as ProbeReport).upgrade : null;
  return [
    ok('base_url', `${url} leads to the hub.`),
    clockFinding(report, begun, first),
    forwardedFinding(report),
    isHeld
      ? failure(
          'event_stream',
          'A proxy holds back the bytes of event streams.',
          'Switch off buffering for /api/v1/stream and /v1 (nginx: proxy_buffering off).',
        )
      : ok('event_stream', `The first byte of an event stream came after ${Math.round(stream.firstMs)} ms.`),
    upgrade === 'websocket'
      ? ok('websocket', 'Requests for a WebSocket reach the hub.')
      : warning(
          'websocket',
          'A proxy removes the Upgrade header: agents use event streams instead of WebSocket.',
          'Pass Upgrade and Connection to the hub (docs/cluster.md).',
        ),
  ];
}

/** Address where a hub would listen on this machine. */
const localUrl = ({ host, port }: Config): string => {
  const name = ['0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  return `http://${name}:${port}`;
};

const noHub = 'No hub runs yet: this command answers in its place.';

/** @param url as clients reach the hub @param isOther true for an address that is not the one of the settings */
export async function checkAddress(
  config: Config,
  url: string,
  isOther: boolean,
  secrets: Proof,
): Promise<readonly CheckResult[]> {
  const isListening = await ask(localUrl(config), {}).then(
    () => true,
    () => false,
  );
  const server = isListening || isOther ? null : await listenForProbe(config, secrets).catch(() => null);
  const advice = 'Start the hub, or correct BASE_URL and the proxy in front of it.';
  try {
    const { protocol } = new URL(url);
    return [
      ...(isOther ? [] : [ok('hub', isListening ? 'A hub listens.' : noHub)]),
      ...(protocol === 'https:' ? [await certificate(new URL(url))] : []),
      ...(await attempt('base_url', advice, () => throughProxies(url, secrets))),
    ];
  } finally {
    server?.closeAllConnections();
    server?.close();
  }
}
