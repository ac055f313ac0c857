// The menu of the signed-in person: account, theme, times, sign-out. frame/person.tsx loads it.
import { Menu } from '@base-ui/react/menu';
import { Link } from '@tanstack/react-router';
import type { JSX } from 'react';
import { signOut, useSignedIn } from '../lib/me.ts';
import { changePrefs, chooseTheme, type Theme, themeChoice, themes, usePrefs } from '../lib/prefs.ts';
import { rolesText } from '../lib/roles.ts';
import { useStore } from '../lib/store.ts';
import { visible } from '../lib/text.ts';
import { type AdminEntry, adminPages, ownPages } from '../pages/registry.ts';
import { Icon } from '../ui/icons.tsx';
import { MenuPopup, MenuSwitch, MenuTick } from '../ui/menu.tsx';
import { say } from '../ui/messages.tsx';

export interface PersonMenuProps {
  /** The person pressed the button before the menu was loaded. */
  readonly defaultOpen: boolean;
  readonly autoFocus: boolean;
}

const PageItems = ({ pages }: { readonly pages: readonly AdminEntry[] }): JSX.Element => (
  <>
    {pages.map(({ path, label, icon }) => (
      <Menu.LinkItem key={path} className="menu-item row" closeOnClick render={<Link to={path} />}>
        <MenuTick icon={icon} />
        {label}
      </Menu.LinkItem>
    ))}
  </>
);

export function PersonMenu({ defaultOpen, autoFocus }: PersonMenuProps): JSX.Element {
  const me = useSignedIn();
  const { utc, compact } = usePrefs();
  const theme = useStore(themeChoice);
  const leave = (): void => void signOut().catch((error: Error) => say(error.message, 'deny'));
  return (
    <Menu.Root defaultOpen={defaultOpen}>
      <Menu.Trigger autoFocus={autoFocus} className="button button-quiet" aria-label={`Account ${me.email}`}>
        <Icon name="person" />
      </Menu.Trigger>
      <MenuPopup>
        <p className="menu-who">
          <bdi>{visible(me.email)}</bdi>
          <span className="muted">{rolesText(me.roles)}</span>
        </p>
        <PageItems pages={ownPages} />
        <Menu.Separator className="menu-line" />
        <PageItems pages={adminPages} />
        <Menu.Separator className="menu-line" />
        <Menu.RadioGroup value={theme} onValueChange={(next) => chooseTheme(next as Theme)}>
          {themes.map(([value, label]) => (
            <Menu.RadioItem key={value} value={value} className="menu-item row" closeOnClick={false}>
              <span className="menu-tick">
                <Menu.RadioItemIndicator>
                  <Icon name="check" />
                </Menu.RadioItemIndicator>
              </span>
              {label}
            </Menu.RadioItem>
          ))}
        </Menu.RadioGroup>
        <Menu.Separator className="menu-line" />
        <MenuSwitch label="Show times in UTC" isOn={utc} onChange={(next) => changePrefs({ utc: next })} />
        <MenuSwitch
          label="Use compact rows"
          isOn={compact}
          onChange={(next) => changePrefs({ compact: next })}
        />
        <Menu.Separator className="menu-line" />
        <Menu.Item className="menu-item row" onClick={leave}>
          <MenuTick />
          Sign out
        </Menu.Item>
      </MenuPopup>
    </Menu.Root>
  );
}
