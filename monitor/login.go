package monitor

import (
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"html"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// A login lets people in from outside: who has posted the password gets a cookie. The password is in no address, as browsers keep
// addresses; scripts cannot read the cookie, and no other site can have it sent.
type login struct {
	password string // the token
	session  string // the value of the cookie. The password does not follow from it

	mu    sync.Mutex
	wrong []time.Time // the last wrong passwords
}

const (
	// maxWrong passwords in wrongTime are allowed; then nobody logs in until the first of them is that old.
	maxWrong  = 10
	wrongTime = time.Minute
	// maxForm is the largest form of a login.
	maxForm = 4 << 10
)

func newLogin(password string) *login { return &login{password: password, session: rand.Text()} }

// knows reports whether a request comes from who has logged in, or shows the token itself, as programs do.
func (l *login) knows(r *http.Request) bool {
	if hasToken(r, l.password) {
		return true
	}
	c, err := r.Cookie(cookieName(r))
	return err == nil && same(c.Value, l.session)
}

// cookieName has the port: cookies do not distinguish ports, and several runs may be shown on one host. A browser sends and sets a cookie with
// this beginning over TLS only.
func cookieName(r *http.Request) string {
	_, port, _ := net.SplitHostPort(r.Host) // without a port it is empty
	return "__Host-metasim" + port
}

// serve takes a posted password.
func (l *login) serve(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	switch ok, often := l.try(r.PostFormValue("password"), time.Now()); {
	case often:
		l.ask(w, http.StatusTooManyRequests, "Too many wrong passwords. Wait a minute.")
	case !ok:
		l.ask(w, http.StatusUnauthorized, "That is not the password.")
	default:
		http.SetCookie(w, &http.Cookie{
			Name: cookieName(r), Value: l.session, Path: "/", HttpOnly: true, Secure: true, SameSite: http.SameSiteStrictMode,
		})
		http.Redirect(w, r, "/", http.StatusSeeOther)
	}
}

// try compares a password, unless there were too many wrong ones.
func (l *login) try(password string, now time.Time) (ok, often bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.wrong) > 0 && now.Sub(l.wrong[0]) > wrongTime {
		l.wrong = l.wrong[1:]
	}
	if len(l.wrong) >= maxWrong {
		return false, true
	}
	if l.password != "" && same(password, l.password) {
		return true, false
	}
	l.wrong = append(l.wrong, now)
	return false, false
}

// ask sends the form.
func (l *login) ask(w http.ResponseWriter, status int, why string) {
	text, err := page.ReadFile("page/login.html")
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	pageHeaders(w.Header(), "text/html; charset=utf-8", "'self'")
	w.WriteHeader(status)
	_, _ = fmt.Fprint(w, strings.Replace(string(text), "WHY", html.EscapeString(why), 1)) // the client may have closed the connection
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func hasToken(r *http.Request, token string) bool {
	shown, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return ok && token != "" && same(shown, token)
}
