// Routes that chat platforms call when somebody presses a button. Each proves itself by its own signature or secret.
import { z } from 'zod';
import { limits } from '../../admission/limit.ts';
import { anyObject } from '../../http/contract/fields.ts';
import { routes } from '../../http/contract/route.ts';

/** Bytes. */
const callbackBody = 64 * 1024;

export const callbackRoutes = routes({
  chatBotCallback: {
    method: 'POST',
    path: '/api/v1/chat_bot/webhook/{channel_id}',
    auth: [],
    role: 'nobody',
    envs: 'none',
    csrf: 'none',
    tag: 'callbacks',
    summary:
      "Button press in a bot chat, with the channel's secret in a header; 404 for an unknown channel, 403 for a wrong secret, else 200",
    params: z.object({ channel_id: z.string().max(200) }),
    parse: 'bytes',
    bodyLimit: callbackBody,
    limits: [limits.consoleCallbacks],
    status: 200,
    audit: ['approval.approved', 'approval.rejected'],
    errors: ['payload_too_large', 'rate_limited'],
    limit: 'standard',
  },
  workspaceChatInteraction: {
    method: 'POST',
    path: '/api/v1/workspace_chat/interactions',
    auth: [],
    role: 'nobody',
    envs: 'none',
    csrf: 'none',
    tag: 'callbacks',
    summary:
      'Button press in a workspace chat, signed by the platform, at most 5 minutes old, for an approval sent to one of its channels; else 403',
    parse: 'bytes',
    bodyLimit: callbackBody,
    limits: [limits.consoleCallbacks, limits.wrongSignatures],
    status: 200,
    reply: anyObject.nullable(),
    audit: ['approval.approved', 'approval.rejected'],
    errors: ['payload_too_large', 'rate_limited'],
    limit: 'standard',
  },
  workspaceChatManifest: {
    method: 'GET',
    path: '/api/v1/workspace_chat/manifest',
    auth: [],
    role: 'nobody',
    envs: 'none',
    tag: 'callbacks',
    summary: 'Manifest that installs the app in a workspace',
    status: 200,
    reply: anyObject,
    errors: [],
    limit: 'standard',
  },
  communityChatInteraction: {
    method: 'POST',
    path: '/api/v1/community_chat/interactions',
    auth: [],
    role: 'nobody',
    envs: 'none',
    csrf: 'none',
    tag: 'callbacks',
    summary:
      'Button press in a community chat, signed with Ed25519, at most 5 minutes old, for an approval sent to one of its channels; else 401',
    parse: 'bytes',
    bodyLimit: callbackBody,
    limits: [limits.consoleCallbacks, limits.wrongSignatures],
    status: 200,
    reply: anyObject.nullable(),
    audit: ['approval.approved', 'approval.rejected'],
    errors: ['payload_too_large', 'rate_limited'],
    limit: 'standard',
  },
});
