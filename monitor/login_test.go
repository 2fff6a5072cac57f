package monitor_test

import (
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/monitor"
)

// From outside a browser posts the password, and the cookie that it gets then is enough; nothing else is, and nobody guesses for long.
func TestLogin(t *testing.T) {
	d := open(t, 1, make(chan struct{}))
	d.stuck()
	site := httptest.NewTLSServer(d.monitor.Handler(monitor.Outside, d.token))
	defer site.Close()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	browser, other := site.Client(), &http.Client{Transport: site.Client().Transport}
	browser.Jar = jar
	do := func(c *http.Client, method, path, origin string, form url.Values) (status int, text string, set *http.Cookie) {
		r, err := http.NewRequest(method, site.URL+path, strings.NewReader(form.Encode()))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		return answerOf(t, c, r)
	}
	password := func(text string) url.Values { return url.Values{"password": {text}} }

	status, text, _ := do(browser, "GET", "/", "", nil)
	require.Equal(t, 200, status)
	require.Contains(t, text, `type="password"`)
	require.NotContains(t, text, "data-known")
	status, _, _ = do(browser, "GET", "/status.json", "", nil)
	require.Equal(t, 401, status)
	status, text, set := do(browser, "POST", "/login", site.URL, password("guess"))
	require.Equal(t, 401, status)
	require.Contains(t, text, "That is not the password.")
	require.Nil(t, set)
	status, _, _ = do(browser, "POST", "/login?password="+d.token, site.URL, nil)
	require.Equal(t, 401, status, "a password in an address is none: browsers keep addresses")
	status, _, _ = do(browser, "POST", "/login", "https://evil.example", password(d.token))
	require.Equal(t, 403, status, "another page must not log its reader in")

	browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	status, _, set = do(browser, "POST", "/login", site.URL, password(d.token))
	require.Equal(t, http.StatusSeeOther, status)
	require.True(t, set.HttpOnly && set.Secure && set.SameSite == http.SameSiteStrictMode && set.Path == "/" && set.Domain == "")
	require.NotContains(t, set.Value, d.token)
	status, text, _ = do(browser, "GET", "/", "", nil)
	require.Equal(t, 200, status)
	require.Contains(t, text, "<html data-known ")
	status, _, _ = do(browser, "GET", "/status.json", "", nil)
	require.Equal(t, 200, status)
	status, _, _ = do(browser, "POST", "/ctl/pause", site.URL, nil)
	require.Equal(t, 200, status)
	status, _, _ = do(browser, "POST", "/ctl/pause", "https://evil.example", nil)
	require.Equal(t, 403, status, "a page elsewhere")
	status, _, _ = do(other, "GET", "/status.json", "", nil)
	require.Equal(t, 401, status, "somebody else")

	for range 10 {
		status, _, _ = do(other, "POST", "/login", "", password("guess"))
	}
	require.Equal(t, http.StatusTooManyRequests, status)
	status, text, _ = do(other, "POST", "/login", "", password(d.token))
	require.Equal(t, http.StatusTooManyRequests, status, "not even who knows it: %s", text)
	status, _, _ = do(browser, "GET", "/status.json", "", nil)
	require.Equal(t, 200, status, "who is in stays in")
}

// answerOf returns a status, a text and the cookie that was set.
func answerOf(t *testing.T, c *http.Client, r *http.Request) (status int, text string, set *http.Cookie) {
	w, err := c.Do(r)
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, w.Write(&b))
	if all := w.Cookies(); len(all) > 0 {
		set = all[0]
	}
	return w.StatusCode, b.String(), set
}
