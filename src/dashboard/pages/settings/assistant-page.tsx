// The assistant: its provider, its key and its use.
import type { JSX } from 'react';
import { useSignedIn } from '../../lib/me.ts';
import { PageHead } from '../../ui/parts.tsx';
import { AiSettings } from './ai.tsx';

export default function AssistantPage(): JSX.Element {
  const { is_admin: isAdmin } = useSignedIn();
  return (
    <div className="page">
      <PageHead title="Assistant" summary={isAdmin ? undefined : 'Only an admin can change the assistant.'} />
      <AiSettings isAdmin={isAdmin} />
    </div>
  );
}
