// Schemas of channels that both APIs share.
import { z } from 'zod';

export const channelTypes = [
  'chat_bot',
  'workspace_chat',
  'workspace_chat_app',
  'community_chat',
  'webhook',
  'email',
] as const;

export const channelConfig = z.record(z.string().max(64), z.unknown());
