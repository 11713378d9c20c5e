package app

// SecretEnv is an environment that takes this context's configured secret variables from getenv and all others from
// rest; a nil function has none.
func (a *App) SecretEnv(getenv, rest func(string) string) func(string) string {
	named := map[string]bool{a.Context.PasswordEnv: true, a.Config.Webhooks.SecretEnv: true,
		a.Config.Notify.SecretEnv: true}
	delete(named, "")
	return func(name string) string {
		switch {
		case named[name]:
			return getenv(name)
		case rest != nil:
			return rest(name)
		}
		return ""
	}
}
