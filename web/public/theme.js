// Before anything is drawn: the theme that the reader chose, if they did.
try {
  const theme = localStorage.getItem("headwater.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage may be refused; the system's theme holds then.
}
