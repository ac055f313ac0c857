// Checks of services outside: the identity provider and the hosts of notification channels. Nothing is sent to them.
import { connect } from 'node:net';
import type { Channel, ChannelConfig } from '../../notification/record.ts';
import type { Secrets } from '../../shared/ports/secrets.ts';
import type { Config } from '../config.ts';
import { attempt, type CheckResult, failure, ok } from './check-result.ts';

const answerMs = 5_000;
/** Channels that are tried. */
const maxChannels = 50;

async function issuerFinding(issuer: string): Promise<CheckResult> {
  const url = `${issuer.replace(/(?<!\/)\/+$/, '')}/.well-known/openid-configuration`;
  const response = await fetch(url, { signal: AbortSignal.timeout(answerMs), redirect: 'error' });
  const document = (await response.json()) as { readonly issuer?: unknown };
  if (response.ok && document.issuer === issuer) return ok('issuer', `${issuer} answers.`);
  return failure(
    'issuer',
    `${url} names ${String(document.issuer)} as the issuer.`,
    'Set OIDC_ISSUER exactly as the provider writes it.',
  );
}

export const checkIssuer = async ({ oidc }: Config): Promise<readonly CheckResult[]> =>
  oidc === null
    ? []
    : attempt('issuer', 'Check OIDC_ISSUER and the way to it.', () => issuerFinding(oidc.issuer));

/** Target of a channel's messages. */
function targetOf(channel: ChannelConfig, config: Config): { readonly host: string; readonly port: number } {
  const ofUrl = (text: string) => {
    const { hostname, port, protocol } = new URL(text);
    return {
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port || (protocol === 'https:' ? 443 : 80)),
    };
  };
  switch (channel.kind) {
    case 'email':
      return { host: channel.smtpHost, port: channel.smtpPort };
    case 'webhook':
      return ofUrl(channel.url);
    case 'workspaceChat':
      return ofUrl(channel.webhookUrl);
    case 'chatBot':
      return ofUrl(config.chatBotUrl);
    case 'workspaceChatApp':
      return ofUrl(config.workspaceChatUrl);
    case 'communityChat':
      return ofUrl(config.communityChatUrl);
  }
}

/** Resolves when the host accepts a connection. */
const reach = ({ host, port }: ReturnType<typeof targetOf>): Promise<void> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host, port, timeout: answerMs }, () => {
      socket.destroy();
      resolve();
    });
    socket.on('timeout', () => socket.destroy(new Error(`No answer within ${answerMs / 1000} s.`)));
    socket.on('error', reject);
  });

/** A finding for each host. @param secrets of the hub; without them no address can be read */
export async function checkChannels(
  channels: readonly Channel[],
  config: Config,
  secrets: Pick<Secrets, 'unseal'>,
): Promise<readonly CheckResult[]> {
  const check = 'channels';
  if (channels.length === 0) return [ok(check, 'No notification channel is on.')];
  const targets = new Map<string, ReturnType<typeof targetOf>>();
  for (const { sealedConfig } of channels.slice(0, maxChannels)) {
    const plain = Buffer.from(secrets.unseal('channel-config', sealedConfig)).toString();
    const target = targetOf(JSON.parse(plain) as ChannelConfig, config);
    targets.set(`${target.host}:${target.port}`, target);
  }
  const checks = [...targets].map(([name, target]) =>
    attempt(check, `Check the channel to ${name}, and the network of this machine.`, async () => {
      await reach(target);
      return ok(check, `${name} accepts connections.`);
    }),
  );
  return (await Promise.all(checks)).flat();
}
