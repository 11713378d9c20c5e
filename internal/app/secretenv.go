package app

// SecretEnv is an environment in which the variables that the config names for the
// secrets of this context come from getenv, and all others from rest; nil: they are
// empty.
func (a *App) SecretEnv(getenv, rest func(string) string) func(string) string {
	named := map[string]bool{a.Context.PasswordEnv: true, a.Config.Webhooks.SecretEnv: true}
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
