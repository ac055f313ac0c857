// Routes that chat platforms call when somebody presses a button. Each proves itself by its own signature or secret.
import { z } from 'zod';
import { limits } from '../../admission/limit.ts';
import { anyObject } from '../../http/contract/fields.ts';
import { routes } from '../../http/contract/route.ts';

/** Bytes. */
const callbackBody = 64 * 1024;

/** A button press. */
const press = {
  method: 'POST',
  auth: [],
  role: 'nobody',
  envs: 'none',
  csrf: 'none',
  tag: 'callbacks',
  parse: 'bytes',
  bodyLimit: callbackBody,
  status: 200,
  audit: ['approval.approved', 'approval.rejected'],
  errors: ['payload_too_large', 'rate_limited'],
  limit: 'standard',
} as const;
/** A button press that the platform signs. */
const signedPress = {
  ...press,
  limits: [limits.consoleCallbacks, limits.wrongSignatures],
} as const;

export const callbackRoutes = routes({
  chatBotCallback: {
    ...press,
    path: '/api/v1/chat_bot/webhook/{channel_id}',
    summary:
      "Button press in a bot chat, with the channel's secret in a header; 404 for an unknown channel, 403 for a wrong secret, else 200",
    params: z.object({ channel_id: z.string().max(200) }),
    limits: [limits.consoleCallbacks],
  },
  workspaceChatInteraction: {
    ...signedPress,
    path: '/api/v1/workspace_chat/interactions',
    summary:
      'Button press in a workspace chat, signed by the platform, at most 5 minutes old, for an approval sent to one of its channels; else 403',
    reply: anyObject.nullable(),
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
    ...signedPress,
    path: '/api/v1/community_chat/interactions',
    summary:
      'Button press in a community chat, signed with Ed25519, at most 5 minutes old, for an approval sent to one of its channels; else 401',
    reply: anyObject.nullable(),
  },
});
