// A page for admins: others learn which role is missing.
import type { JSX, ReactNode } from 'react';
import { useSignedIn } from '../../lib/me.ts';
import { PageHead } from '../../ui/parts.tsx';

export function AdminPage({
  title,
  needs,
  children,
}: {
  readonly title: string;
  /** Action that the role allows, as a verb with its object. */
  readonly needs: string;
  readonly children: ReactNode;
}): JSX.Element {
  const { is_admin: isAdmin } = useSignedIn();
  return (
    <div className="page">
      <PageHead title={title} />
      {isAdmin ? children : <p className="muted">You need the role admin to {needs}. Ask an admin.</p>}
    </div>
  );
}
