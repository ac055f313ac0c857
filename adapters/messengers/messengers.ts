// The Messengers port: hands each kind of channel to the file that knows its platform.

import type { Messengers } from '../../src/notification/port/messengers.ts';
import type { ChannelConfig } from '../../src/notification/record.ts';
import type { Clock } from '../../src/shared/ports/clock.ts';
import type { Outbound } from '../../src/shared/ports/outbound.ts';
import { answerChatBot, registerChatBot, sendChatBot } from './chat-bot.ts';
import { communityChatReply, sendCommunityChat } from './community-chat.ts';
import { sendEmail } from './email.ts';
import { sendWebhook } from './webhook.ts';
import { sendWorkspaceChat, sendWorkspaceChatApp, workspaceChatReply } from './workspace-chat.ts';

export interface MessengerOptions {
  readonly outbound: Outbound;
  readonly clock: Clock;
  /** Base addresses of the platforms' APIs, without a slash at their ends. */
  readonly chatBotUrl: string;
  readonly workspaceChatUrl: string;
  readonly communityChatUrl: string;
  readonly signatureHeader: string;
  readonly actionPrefix: string;
  readonly version: string;
  /** Certificates that mail servers are trusted by instead of the system's, PEM. */
  readonly ca?: string;
}

export function createMessengers(options: MessengerOptions): Messengers {
  const { outbound } = options;
  const check = (config: ChannelConfig): Promise<unknown> => {
    switch (config.kind) {
      case 'webhook':
        return outbound.check(config.url);
      case 'workspaceChat':
        return outbound.check(config.webhookUrl);
      case 'email':
        return outbound.resolve(config.smtpHost, config.smtpPort);
      default:
        // The platforms' addresses are settings of the hub.
        return Promise.resolve();
    }
  };
  return {
    send(sending) {
      const { config } = sending;
      switch (config.kind) {
        case 'webhook':
          return sendWebhook(options, config, sending);
        case 'chatBot':
          return sendChatBot(options, config, sending);
        case 'workspaceChat':
          return sendWorkspaceChat(options, config, sending);
        case 'workspaceChatApp':
          return sendWorkspaceChatApp(options, config, sending);
        case 'communityChat':
          return sendCommunityChat(options, config, sending);
        case 'email':
          return sendEmail(options, config, sending);
      }
    },
    async check(config) {
      await check(config);
    },
    register: (config, callbackUrl, signal) => registerChatBot(options, config, callbackUrl, signal),
    reply: (kind, notice) =>
      kind === 'workspaceChatApp'
        ? workspaceChatReply(notice, options.actionPrefix)
        : communityChatReply(notice),
    answer: (answer) => answerChatBot(options, answer),
  };
}
