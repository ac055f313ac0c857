// The chat platforms' APIs as one server on loopback: their paths, credentials, answers and refusals, as their public
// documentation has them. Messages live in memory, so that tests see what people would see.
import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { type Received, type Receiver, startReceiver } from '../receiver.ts';

/** A message as a person sees it. */
export interface Seen {
  readonly id: string;
  // biome-ignore lint/suspicious/noExplicitAny: every platform has its own form
  body: any;
  edits: number;
}

export interface Platforms {
  readonly url: string;
  readonly receiver: Receiver;
  readonly messages: Seen[];
  /** Registrations of callbacks and answers to pressed buttons, in order. */
  readonly calls: {
    readonly method: string;
    // biome-ignore lint/suspicious/noExplicitAny: every method has its own form
    readonly body: any;
  }[];
  /** The next answers of this kind, before the platform works again. */
  fail(...failures: Failure[]): void;
  close(): Promise<void>;
}

export interface Failure {
  readonly status: number;
  readonly headers?: { readonly [name: string]: string };
  readonly body: object;
}

export const botToken = '12345:bot-token-of-tests';
export const appToken = 'xoxo-app-token-of-tests';
export const communityToken = 'community.token.of.tests';

const json = (response: ServerResponse, status: number, body: object, headers = {}): unknown => {
  return response
    .writeHead(status, { 'Content-Type': 'application/json', ...headers })
    .end(JSON.stringify(body));
};

/** Texts of a workspace chat's blocks have at least one character. */
const hasEmptyText = (blocks: unknown): boolean => JSON.stringify(blocks ?? []).includes('"text":""');

export async function startPlatforms(): Promise<Platforms> {
  const messages: Seen[] = [];
  const calls: Platforms['calls'] = [];
  const failures: Failure[] = [];
  let next = 1000;

  const post = (body: unknown): Seen => {
    const seen = { id: String(++next), body, edits: 0 };
    messages.push(seen);
    return seen;
  };
  const edit = (id: unknown, body: unknown): Seen | undefined => {
    const seen = messages.find((one) => one.id === String(id));
    if (seen) Object.assign(seen, { body, edits: seen.edits + 1 });
    return seen;
  };

  function chatBot(method: string, { body }: Received, response: ServerResponse): unknown {
    if (method === 'sendMessage') {
      if (!/^-?\d+$/.test(String(body.chat_id))) return refuse(response, 'Bad Request: chat not found');
      return json(response, 200, { ok: true, result: { message_id: Number(post(body).id) } });
    }
    if (method === 'editMessageText') {
      const known = messages.find(({ id }) => id === String(body.message_id));
      if (!known) return refuse(response, 'Bad Request: message to edit not found');
      if (known.body.text === body.text) {
        return refuse(
          response,
          'Bad Request: message is not modified: specified new message content and reply markup are exactly the same',
        );
      }
      edit(body.message_id, body);
      return json(response, 200, { ok: true, result: { message_id: body.message_id } });
    }
    if (method === 'setWebhook' || method === 'answerCallbackQuery') {
      calls.push({ method, body });
      return json(response, 200, { ok: true, result: true });
    }
    return json(response, 404, { ok: false, error_code: 404, description: 'Not Found' });
  }
  const refuse = (response: ServerResponse, description: string): unknown =>
    json(response, 400, { ok: false, error_code: 400, description });

  function workspace(method: string, { body, headers }: Received, response: ServerResponse): unknown {
    if (headers.authorization !== `Bearer ${appToken}`)
      return json(response, 200, { ok: false, error: 'invalid_auth' });
    if (hasEmptyText(body.blocks)) return json(response, 200, { ok: false, error: 'invalid_blocks' });
    if (method === 'chat.postMessage') {
      const ts = `${post(body).id}.000100`;
      // A name is answered with an id.
      const channel = body.channel === 'C0' ? 'C0REAL' : body.channel;
      return json(response, 200, { ok: true, channel, ts });
    }
    const found = method === 'chat.update' && edit(String(body.ts).split('.')[0], body);
    if (!found) return json(response, 200, { ok: false, error: 'message_not_found' });
    return json(response, 200, { ok: true, channel: body.channel, ts: body.ts });
  }

  function community(path: string, { method, body, headers }: Received, response: ServerResponse): unknown {
    if (headers.authorization !== `Bot ${communityToken}`) {
      return json(response, 401, { message: '401: Unauthorized', code: 0 });
    }
    const [, channel, id] = /^\/channels\/(\w+)\/messages(?:\/(\w+))?$/.exec(path) ?? [];
    if (!channel) return json(response, 404, { message: 'Unknown Channel', code: 10_003 });
    if (method === 'POST') return json(response, 200, { id: post(body).id, channel_id: channel });
    const found = edit(id, body);
    if (!found) return json(response, 404, { message: 'Unknown Message', code: 10_008 });
    return json(response, 200, { id, channel_id: channel });
  }

  const receiver = await startReceiver((received, response) => {
    const failure = failures.shift();
    if (failure) {
      json(response, failure.status, failure.body, failure.headers);
      return true;
    }
    const { path } = received;
    const [, token, bot = ''] = /^\/bot([^/]+)\/(\w+)$/.exec(path) ?? [];
    if (token !== undefined) {
      if (token === botToken) chatBot(bot, received, response);
      else json(response, 401, { ok: false, error_code: 401, description: 'Unauthorized' });
    } else if (path.startsWith('/chat.')) workspace(path.slice(1), received, response);
    else if (path.startsWith('/services/')) {
      if (hasEmptyText(received.body.blocks)) {
        response.writeHead(400, { 'Content-Type': 'text/html' }).end('invalid_blocks');
        return true;
      }
      post(received.body);
      response.writeHead(200, { 'Content-Type': 'text/html' }).end('ok');
    } else community(path, received, response);
    return true;
  });
  return {
    url: receiver.url,
    receiver,
    messages,
    calls,
    fail: (...more) => void failures.push(...more),
    close: () => receiver.close(),
  };
}

/** A bot chat's message when a button is pressed. */
export const botUpdate = (data: string, more: { chat?: number; from?: object; id?: number } = {}) => ({
  update_id: more.id ?? 815,
  callback_query: {
    id: '4382bfdwdsb323b2d9',
    from: more.from ?? { id: 777, is_bot: false, first_name: 'Ann', username: 'ann_b', language_code: 'en' },
    message: {
      message_id: 1001,
      date: 1_700_000_000,
      chat: { id: more.chat ?? -100_200, type: 'supergroup' },
      text: 'x',
    },
    chat_instance: '-3787034',
    data,
  },
});

/** The form in which a workspace chat sends a pressed button, and its headers. */
export function workspaceInteraction(
  action_id: string,
  secret: string,
  seconds: number,
  user: object = { id: 'U777', username: 'ann', name: 'ann', team_id: 'T1' },
  chatId: string | null = 'C0REAL',
) {
  const payload = {
    type: 'block_actions',
    user,
    api_app_id: 'A1',
    token: 'unused',
    container: { type: 'message', message_ts: '1001.000100', channel_id: chatId, is_ephemeral: false },
    trigger_id: '12.34.ab',
    team: { id: 'T1', domain: 'acme' },
    channel: { id: chatId, name: 'ops' },
    response_url: 'https://hooks.example/actions/T1/1/x',
    actions: [
      {
        action_id,
        block_id: 'b',
        type: 'button',
        text: { type: 'plain_text', text: 'Approve' },
        action_ts: '1.2',
      },
    ],
  };
  const text = new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
  return { text, headers: workspaceHeaders(text, secret, seconds) };
}

export const workspaceHeaders = (text: string, secret: string, seconds: number) => ({
  'x-slack-request-timestamp': String(seconds),
  'x-slack-signature': `v0=${createHmac('sha256', secret).update(`v0:${seconds}:${text}`).digest('hex')}`,
});

/** A community chat's application: its key pair, and signed requests. */
export function communityApplication() {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const signed = (text: string, seconds: number) => ({
    text,
    headers: {
      'x-signature-timestamp': String(seconds),
      'x-signature-ed25519': sign(null, Buffer.from(`${seconds}${text}`), privateKey).toString('hex'),
    },
  });
  return {
    publicKey: publicKey.export({ format: 'der', type: 'spki' }).subarray(12).toString('hex'),
    signed,
    ping: (seconds: number) =>
      signed(JSON.stringify({ type: 1, id: '1', application_id: '2', version: 1 }), seconds),
    press: (custom_id: string, seconds: number, more: object = {}) =>
      signed(
        JSON.stringify({
          type: 3,
          id: '846462639134605312',
          application_id: '2',
          version: 1,
          token: 'unused',
          guild_id: '290926798626999250',
          channel_id: '998877',
          member: {
            user: { id: '53908232506183680', username: 'ann', discriminator: '0' },
            roles: [],
            nick: null,
          },
          message: { id: '1001', type: 0, content: '' },
          data: { component_type: 2, custom_id },
          ...more,
        }),
        seconds,
      ),
  };
}
