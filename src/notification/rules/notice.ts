// Messages to a channel, in the words of the domain. Messengers (notification/port/messengers) write them in a
// platform's format.
import type { Approval } from '../../approval/record.ts';
import type { ToolEntry } from '../../tool/record.ts';

export type Notice =
  /** An approval is asked for. */
  | { readonly kind: 'requested'; readonly approval: Approval; readonly link: string }
  /** A decided approval. With a `messageId`, the message that asked for it is edited. */
  | {
      readonly kind: 'decided';
      readonly approval: Approval;
      readonly link: string;
      readonly messageId: string | null;
    }
  /** An expired approval: the message that asked for it is edited. */
  | {
      readonly kind: 'expired';
      readonly approval: Approval;
      readonly link: string;
      readonly messageId: string;
    }
  /** A server's tool has a new definition. */
  | {
      readonly kind: 'toolChanged';
      readonly entry: ToolEntry;
      /** Definitions of the server without a decision. */
      readonly undecided: number;
      /** False in mode observe: nothing waits. */
      readonly isWaiting: boolean;
      readonly link: string;
    }
  /** A button was pressed whose approval is not there. */
  | { readonly kind: 'unknown' }
  /** Somebody tries the channel. `approvalId` is made up. */
  | { readonly kind: 'test'; readonly approvalId: string };
