/** Who can create an account (`SIGN_UP`). */
export type SignUpMode = "open" | "applications" | "closed";
