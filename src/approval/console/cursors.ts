// Texts of cursors in the two orders of approvals: newest first, and by deadline.
import type { Approval } from '../record.ts';

type CreationPlace = Pick<Approval, 'createdAt' | 'id'>;
type DeadlinePlace = Pick<Approval, 'deadline' | 'id'>;

export const creationCursor = ({ createdAt, id }: CreationPlace): string => JSON.stringify([createdAt, id]);

export function readCreation(text: string): CreationPlace {
  const [createdAt, id] = JSON.parse(text) as [number, string];
  return { createdAt, id };
}

export const deadlineCursor = ({ deadline, id }: DeadlinePlace): string => JSON.stringify([deadline, id]);

export function readDeadline(text: string): DeadlinePlace {
  const [deadline, id] = JSON.parse(text) as [number, string];
  return { deadline, id };
}
