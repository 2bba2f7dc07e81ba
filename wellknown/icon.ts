/** Media type of the icon. */
export const ICON_MEDIA_TYPE = "image/svg+xml";

/**
 * The icon of the service: four bars, one for each factor, rising across a line at 50. It has its
 * own background, so that it is visible on any page.
 */
export const iconSvg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" width="32" height="32">
<rect width="32" height="32" rx="7" fill="#0b6e69"/>
<path d="M6 20h20" stroke="#5cc4ba" stroke-width="1.5"/>
<path d="M9 24v-6M14 24v-9M19 24V13M24 24V8" stroke="#fff" stroke-width="3" stroke-linecap="round"/>
</svg>
`;
