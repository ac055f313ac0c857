// The ways to people: each kind of channel in its platform's words. The adapters write and read what goes over the
// wire; they keep nothing.
import type { ChannelConfig } from '../record.ts';
import type { AttemptOutcome } from '../rules/delivery.ts';
import type { Notice } from '../rules/notice.ts';

/** One notice to one channel. */
export interface Sending {
  readonly config: ChannelConfig;
  readonly notice: Notice;
  /** API whose payload a webhook gets. */
  readonly payloadStyle: 'console' | 'hosted';
  /** The same in every attempt: receivers know a repeat by it. */
  readonly deliveryId: string;
  readonly signal?: AbortSignal;
}

/** The answer to a pressed button. */
export interface ButtonAnswer {
  readonly config: Extract<ChannelConfig, { readonly kind: 'chatBot' }>;
  /** Platform's id of the press of the button. */
  readonly queryId: string;
  readonly text: string;
}

/** Every kind of channel. */
export interface Messengers {
  /**
   * One attempt, at most 10 s. Failures of the other side are outcomes and never thrown.
   * @throws OutboundError('aborted') if the signal aborted it
   */
  send(sending: Sending): Promise<AttemptOutcome>;
  /** Checks that the addresses in a configuration may be called. @throws OutboundError */
  check(config: ChannelConfig): Promise<void>;
  /** Tells the platform of a chat bot where its callbacks go. */
  register(
    config: ButtonAnswer['config'],
    callbackUrl: string,
    signal?: AbortSignal,
  ): Promise<AttemptOutcome>;
  /**
   * The answer to the platform after a button press, as JSON: the new message, or for null that this person may not
   * decide.
   */
  reply(kind: 'workspaceChatApp' | 'communityChat', notice: Notice | null): object;
  /** Shows a short text to who pressed a button. Failures are an outcome. */
  answer(answer: ButtonAnswer): Promise<AttemptOutcome>;
}
