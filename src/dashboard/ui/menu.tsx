// The parts that menus share: the popup below its button, and an item that is on or off.
import { Menu } from '@base-ui/react/menu';
import type { JSX, ReactNode } from 'react';
import { Icon, type IconName } from './icons.tsx';

export const MenuPopup = ({ children }: { readonly children: ReactNode }): JSX.Element => (
  <Menu.Portal>
    <Menu.Positioner className="menu-place" align="end" sideOffset={4}>
      <Menu.Popup className="menu">{children}</Menu.Popup>
    </Menu.Positioner>
  </Menu.Portal>
);

/** The place at the start of an item, which has the same width in all items. */
export const MenuTick = ({ icon }: { readonly icon?: IconName }): JSX.Element => (
  <span className="menu-tick">{icon && <Icon name={icon} />}</span>
);

interface SwitchProps {
  readonly label: string;
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
}

export const MenuSwitch = ({ label, isOn, onChange }: SwitchProps): JSX.Element => (
  <Menu.CheckboxItem className="menu-item row" checked={isOn} onCheckedChange={onChange} closeOnClick={false}>
    <span className="menu-tick">
      <Menu.CheckboxItemIndicator>
        <Icon name="check" />
      </Menu.CheckboxItemIndicator>
    </span>
    {label}
  </Menu.CheckboxItem>
);
