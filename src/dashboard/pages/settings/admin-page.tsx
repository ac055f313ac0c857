// A page for admins: others learn which role is missing.
import type { ComponentType, JSX } from 'react';
import { useSignedIn } from '../../lib/me.ts';
import { PageHead } from '../../ui/parts.tsx';

/** @param needs action that the role allows, as a verb with its object */
export const adminPage =
  (title: string, needs: string, Content: ComponentType): (() => JSX.Element) =>
  () => {
    const { is_admin: isAdmin } = useSignedIn();
    return (
      <div className="page">
        <PageHead title={title} />
        {isAdmin ? <Content /> : <p className="muted">You need the role admin to {needs}. Ask an admin.</p>}
      </div>
    );
  };
